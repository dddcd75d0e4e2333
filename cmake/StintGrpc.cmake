# stint_add_grpc(TARGET): the inference server's gRPC, generated from src/serve/grpc/open_inference.proto.
function(stint_add_grpc target)
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
  target_sources(${target} PRIVATE ${from}/grpc_api.cc)
  target_compile_definitions(${target} PUBLIC STINT_GRPC)
  target_link_libraries(${target} PRIVATE stint_inference_proto)
endfunction()
