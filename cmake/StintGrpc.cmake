# The inference server's gRPC: the library stint_serve_grpc, generated from src/serve/grpc/open_inference.proto, and the option of
# `stint serve run`. No other source is compiled otherwise than without it.
find_package(Protobuf REQUIRED)
pkg_check_modules(GRPC REQUIRED IMPORTED_TARGET grpc++)
find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)
set(from ${CMAKE_CURRENT_SOURCE_DIR}/serve/grpc)
set(to ${CMAKE_BINARY_DIR}/grpc)
file(MAKE_DIRECTORY ${to})
set(made ${to}/open_inference.pb.cc ${to}/open_inference.pb.h ${to}/open_inference.grpc.pb.cc ${to}/open_inference.grpc.pb.h)
add_custom_command(OUTPUT ${made} DEPENDS ${from}/open_inference.proto
                   COMMAND protobuf::protoc --cpp_out=${to} --grpc_out=${to} --plugin=protoc-gen-grpc=${GRPC_CPP_PLUGIN}
                           -I${from} ${from}/open_inference.proto)
add_library(stint_inference_proto STATIC ${made})
target_include_directories(stint_inference_proto SYSTEM PUBLIC ${to})
target_link_libraries(stint_inference_proto PUBLIC PkgConfig::GRPC protobuf::libprotobuf)
add_library(stint_serve_grpc STATIC ${from}/grpc_api.cc)
target_link_libraries(stint_serve_grpc PUBLIC stint_serve PRIVATE stint_inference_proto stint_warnings)
target_link_libraries(stint_cli PUBLIC $<LINK_ONLY:stint_serve_grpc>)
