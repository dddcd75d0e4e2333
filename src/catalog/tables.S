/* The catalogue's CSV files, compiled in. src/CMakeLists.txt gives the include path and makes this file depend on them. */
        .section .rodata

        .global stint_gpus_csv, stint_gpus_csv_end
stint_gpus_csv:
        .incbin "gpus.csv"
stint_gpus_csv_end:

        .global stint_instances_csv, stint_instances_csv_end
stint_instances_csv:
        .incbin "instances.csv"
stint_instances_csv_end:

        .global stint_prices_csv, stint_prices_csv_end
stint_prices_csv:
        .incbin "prices.csv"
stint_prices_csv_end:

        .global stint_timed_csv, stint_timed_csv_end
stint_timed_csv:
        .incbin "timed.csv"
stint_timed_csv_end:

#if defined(__linux__) && defined(__ELF__)
        .section .note.GNU-stack,"",%progbits
#endif
