# stint_embed_page(TARGET)
#
# The page's files (page/, and uPlot's of third_party) as one assembler file with a table of them: `stint_page_files`, read by
# src/daemon/api/page.cc. A file that is put into page/ is served; there is no other list.
function(stint_embed_page target)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/page/*.html ${CMAKE_SOURCE_DIR}/page/*.css ${CMAKE_SOURCE_DIR}/page/*.js
       ${CMAKE_SOURCE_DIR}/page/*.svg ${CMAKE_SOURCE_DIR}/third_party/uplot/*.js ${CMAKE_SOURCE_DIR}/third_party/uplot/*.css)
  set(bytes "        .section .rodata\n")
  set(table "")
  set(i 0)
  foreach(file ${files})
    get_filename_component(name ${file} NAME)
    string(APPEND bytes ".Lname${i}: .asciz \"${name}\"\n.Lbegin${i}: .incbin \"${file}\"\n.Lend${i}:\n")
    string(APPEND table "        .quad .Lname${i}, .Lbegin${i}, .Lend${i}\n")
    math(EXPR i "${i} + 1")
  endforeach()
  set(assembly ${CMAKE_CURRENT_BINARY_DIR}/page_files.S)
  file(CONFIGURE OUTPUT ${assembly} @ONLY CONTENT "${bytes}
        .section .data.rel.ro, \"aw\"
        .balign 8
        .global stint_page_files
stint_page_files:
${table}        .quad 0, 0, 0

        .section .note.GNU-stack,\"\",%progbits
")
  target_sources(${target} PRIVATE ${assembly})
  set_source_files_properties(${assembly} PROPERTIES OBJECT_DEPENDS "${files}")
endfunction()
