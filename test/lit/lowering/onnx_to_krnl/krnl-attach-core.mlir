// RUN: onnx-opt %s --krnl-attach-core="core=znver4 l2-bytes=2097152" --split-input-file | filecheck %s
// RUN: onnx-opt %s --krnl-attach-core="core=haswell l1-bytes=49152 l1-ways=12 l2-ways=16 l3-bytes=0 l3-ways=0 line-bytes=128 prefetch-bytes=4096 panel-prefetch-bytes=1024 write-prefetch-bytes=65536 next-panel-bytes=131072" --split-input-file | filecheck %s --check-prefix=ALL
// RUN: onnx-opt %s --fuse-onnx="processor=avx512" --assign-layout="processor=avx512" --convert-onnx-to-krnl="processor=avx512" --split-input-file | filecheck %s --check-prefix=KRNL

// The core's parameters become a module attribute; options override single ones.
// CHECK:       dlti.target_system_spec = #dlti.target_system_spec<"CPU" = #dlti.target_device_spec<
// CHECK-SAME:    "name" = "znver4"
// CHECK-SAME:    "fma_bytes" = 64 : i64
// CHECK-SAME:    "l2_bytes" = 2097152 : i64
// CHECK-LABEL: func.func @usual
// ALL:         "l1_bytes" = 49152 : i64, "l1_ways" = 12 : i64, "l2_bytes" = 262144 : i64, "l2_ways" = 16 : i64, "l3_bytes" = 0 : i64, "l3_ways" = 0 : i64, "line_bytes" = 128 : i64, "prefetch_bytes" = 4096 : i64, "panel_prefetch_bytes" = 1024 : i64, "write_prefetch_bytes" = 65536 : i64, "next_panel_bytes" = 131072 : i64
// Without the attribute, a default core of the processor is assumed: its first-level cache of 32 KiB does not
// hold 128 KiB of weights, which are therefore prefetched, as they are read once.
// KRNL-LABEL:  func.func @usual
// KRNL:          prefetch = 2048 : i64
func.func @usual(%x: tensor<1x512xf32>) -> tensor<1x64xf32> {
  %w = onnx.Constant dense<1.0> : tensor<512x64xf32>
  %0 = "onnx.MatMul"(%x, %w) : (tensor<1x512xf32>, tensor<512x64xf32>) -> tensor<1x64xf32>
  onnx.Return %0 : tensor<1x64xf32>
}

// -----

// A larger first-level cache holds them.
// KRNL-LABEL:  func.func @kept
// KRNL-NOT:      prefetch = 
module attributes {dlti.target_system_spec = #dlti.target_system_spec<"CPU" = #dlti.target_device_spec<"name" = "large", "fma_bytes" = 64 : i64, "load_bytes" = 64 : i64, "fma_latency" = 4 : i64, "l1_bytes" = 65536 : i64, "l1_ways" = 8 : i64, "l2_bytes" = 1048576 : i64, "l2_ways" = 8 : i64, "l3_bytes" = 0 : i64, "l3_ways" = 0 : i64, "line_bytes" = 64 : i64, "prefetch_bytes" = 2048 : i64, "panel_prefetch_bytes" = 0 : i64>>} {
func.func @kept(%x: tensor<1x512xf32>) -> tensor<1x64xf32> {
  %w = onnx.Constant dense<1.0> : tensor<512x64xf32>
  %0 = "onnx.MatMul"(%x, %w) : (tensor<1x512xf32>, tensor<512x64xf32>) -> tensor<1x64xf32>
  onnx.Return %0 : tensor<1x64xf32>
}
}

// -----

// Tuned tiles override computed ones.
// KRNL-LABEL:  func.func @measured
// KRNL:          "krnl.gemm"({{.*}}tile = array<i64: 1, 32>
module attributes {krnl.tiles = {"gemm 1x512x64 f32" = array<i64: 1, 32>}} {
func.func @measured(%x: tensor<1x512xf32>) -> tensor<1x64xf32> {
  %w = onnx.Constant dense<1.0> : tensor<512x64xf32>
  %0 = "onnx.MatMul"(%x, %w) : (tensor<1x512xf32>, tensor<512x64xf32>) -> tensor<1x64xf32>
  onnx.Return %0 : tensor<1x64xf32>
}
}

// -----

// Each of 16 tiles of rows reads the panel of 512x48 weights, which the first-level cache does not hold.
// KRNL-LABEL:  func.func @panels
// KRNL:          prefetch = 2048 : i64
func.func @panels(%x: tensor<128x512xf32>) -> tensor<128x96xf32> {
  %w = onnx.Constant dense<1.0> : tensor<512x96xf32>
  %0 = "onnx.MatMul"(%x, %w) : (tensor<128x512xf32>, tensor<512x96xf32>) -> tensor<128x96xf32>
  onnx.Return %0 : tensor<128x96xf32>
}

// -----

// Each of 56 tiles of 14 pixels reads the weights of 32 channels, 36 KiB, which the first-level cache does not hold.
// KRNL-LABEL:  func.func @weights
// KRNL:          weight_prefetch = 2048 : i64
func.func @weights(%x: tensor<1x32x28x28xf32>) -> tensor<1x32x28x28xf32> {
  %w = onnx.Constant dense<1.0> : tensor<32x32x3x3xf32>
  %b = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.Conv"(%x, %w, %b) <{pads = [1, 1, 1, 1]}> : (tensor<1x32x28x28xf32>, tensor<32x32x3x3xf32>, none) -> tensor<1x32x28x28xf32>
  onnx.Return %0 : tensor<1x32x28x28xf32>
}

// -----

// It holds 18 KiB and the pixels of a tile.
// KRNL-LABEL:  func.func @few_weights
// KRNL:          "krnl.conv"
// KRNL-NOT:      weight_prefetch
func.func @few_weights(%x: tensor<1x16x28x28xf32>) -> tensor<1x32x28x28xf32> {
  %w = onnx.Constant dense<1.0> : tensor<32x16x3x3xf32>
  %b = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.Conv"(%x, %w, %b) <{pads = [1, 1, 1, 1]}> : (tensor<1x16x28x28xf32>, tensor<32x16x3x3xf32>, none) -> tensor<1x32x28x28xf32>
  onnx.Return %0 : tensor<1x32x28x28xf32>
}

// -----

// The hardware prefetchers of this core suffice.
// KRNL-LABEL:  func.func @weights_on_another_core
// KRNL:          "krnl.conv"
// KRNL-NOT:      weight_prefetch
module attributes {dlti.target_system_spec = #dlti.target_system_spec<"CPU" = #dlti.target_device_spec<"name" = "znver4", "fma_bytes" = 64 : i64, "load_bytes" = 64 : i64, "fma_latency" = 4 : i64, "l1_bytes" = 32768 : i64, "l1_ways" = 8 : i64, "l2_bytes" = 1048576 : i64, "l2_ways" = 8 : i64, "l3_bytes" = 0 : i64, "l3_ways" = 0 : i64, "line_bytes" = 64 : i64, "prefetch_bytes" = 0 : i64, "panel_prefetch_bytes" = 0 : i64>>} {
func.func @weights_on_another_core(%x: tensor<1x32x28x28xf32>) -> tensor<1x32x28x28xf32> {
  %w = onnx.Constant dense<1.0> : tensor<32x32x3x3xf32>
  %b = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.Conv"(%x, %w, %b) <{pads = [1, 1, 1, 1]}> : (tensor<1x32x28x28xf32>, tensor<32x32x3x3xf32>, none) -> tensor<1x32x28x28xf32>
  onnx.Return %0 : tensor<1x32x28x28xf32>
}
}

// -----

// The result of 1 MiB does not fit in the second-level cache beside the operands: tiles prefetch the lines that they store.
// KRNL-LABEL:  func.func @large_result
// KRNL:          "krnl.gemm"({{.*}}write_prefetch
func.func @large_result(%x: tensor<1024x64xf32>) -> tensor<1024x256xf32> {
  %w = onnx.Constant dense<1.0> : tensor<64x256xf32>
  %0 = "onnx.MatMul"(%x, %w) : (tensor<1024x64xf32>, tensor<64x256xf32>) -> tensor<1024x256xf32>
  onnx.Return %0 : tensor<1024x256xf32>
}

// -----

// A smaller one does.
// KRNL-LABEL:  func.func @smaller_result
// KRNL:          "krnl.gemm"
// KRNL-NOT:      write_prefetch
func.func @smaller_result(%x: tensor<1023x64xf32>) -> tensor<1023x256xf32> {
  %w = onnx.Constant dense<1.0> : tensor<64x256xf32>
  %0 = "onnx.MatMul"(%x, %w) : (tensor<1023x64xf32>, tensor<64x256xf32>) -> tensor<1023x256xf32>
  onnx.Return %0 : tensor<1023x256xf32>
}

// -----

// 768 KiB of weights come from beyond the second-level cache of 1 MiB, which holds two panels of 256x48: each of 16
// tiles of rows prefetches 12 bytes of the next panel in each of its 256 steps.
// KRNL-LABEL:  func.func @next_panels
// KRNL:          next_panel_prefetch = 12 : i64
func.func @next_panels(%x: tensor<128x256xf32>) -> tensor<128x768xf32> {
  %w = onnx.Constant dense<1.0> : tensor<256x768xf32>
  %0 = "onnx.MatMul"(%x, %w) : (tensor<128x256xf32>, tensor<256x768xf32>) -> tensor<128x768xf32>
  onnx.Return %0 : tensor<128x768xf32>
}

// -----

// With a dynamic number of rows, the bytes depend on it.
// KRNL-LABEL:  func.func @next_panels_of_dynamic_rows
// KRNL:          m = -9223372036854775808 : i64{{.*}}next_panel_prefetch = -9223372036854775808 : i64
func.func @next_panels_of_dynamic_rows(%x: tensor<?x256xf32>) -> tensor<?x768xf32> {
  %w = onnx.Constant dense<1.0> : tensor<256x768xf32>
  %0 = "onnx.MatMul"(%x, %w) : (tensor<?x256xf32>, tensor<256x768xf32>) -> tensor<?x768xf32>
  onnx.Return %0 : tensor<?x768xf32>
}

// -----

// The second-level cache holds weights of 512 KiB.
// KRNL-LABEL:  func.func @near_panels
// KRNL:          "krnl.gemm"
// KRNL-NOT:      next_panel_prefetch
func.func @near_panels(%x: tensor<128x256xf32>) -> tensor<128x512xf32> {
  %w = onnx.Constant dense<1.0> : tensor<256x512xf32>
  %0 = "onnx.MatMul"(%x, %w) : (tensor<128x256xf32>, tensor<256x512xf32>) -> tensor<128x512xf32>
  onnx.Return %0 : tensor<128x512xf32>
}

// -----

// 3x3 weights of 256 channels: two panels of three blocks do not fit, as in @narrow_panels, but of two.
// KRNL-LABEL:  func.func @convolution_of_far_weights
// KRNL:          next_panel_prefetch = {{[0-9]+}} : i64{{.*}}tile = array<i64: 7, 2>
func.func @convolution_of_far_weights(%x: tensor<1x256x7x7xf32>) -> tensor<1x256x7x7xf32> {
  %w = onnx.Constant dense<1.0> : tensor<256x256x3x3xf32>
  %b = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.Conv"(%x, %w, %b) <{pads = [1, 1, 1, 1]}> : (tensor<1x256x7x7xf32>, tensor<256x256x3x3xf32>, none) -> tensor<1x256x7x7xf32>
  onnx.Return %0 : tensor<1x256x7x7xf32>
}

// -----

// Two panels of 3x3 weights of 64 channels fit.
// KRNL-LABEL:  func.func @narrow_panels
// KRNL-NOT:      next_panel_prefetch
// KRNL:          tile = array<i64: 7, 3>
func.func @narrow_panels(%x: tensor<1x64x7x7xf32>) -> tensor<1x96x7x7xf32> {
  %w = onnx.Constant dense<1.0> : tensor<96x64x3x3xf32>
  %b = "onnx.NoValue"() <{value}> : () -> none
  %0 = "onnx.Conv"(%x, %w, %b) <{pads = [1, 1, 1, 1]}> : (tensor<1x64x7x7xf32>, tensor<96x64x3x3xf32>, none) -> tensor<1x96x7x7xf32>
  onnx.Return %0 : tensor<1x96x7x7xf32>
}
