// RUN: onnx-opt %s --verify-diagnostics --split-input-file

func.func @f(%l: !krnl.loop) {
  // expected-error @+1 {{krnl.block: a tile is above 0, found 0}}
  %a, %b = krnl.block %l 0 : (!krnl.loop) -> (!krnl.loop, !krnl.loop)
  return
}

// -----

func.func @f(%l: !krnl.loop, %m: !krnl.loop) {
  // expected-error @+1 {{krnl.permute: [0, 0] is no order of 2 loops}}
  krnl.permute(%l, %m) [0, 0] : !krnl.loop, !krnl.loop
  return
}

// -----

func.func @f(%l: !krnl.loop) {
  // expected-error @+1 {{krnl.get_induction_var_value: 1 loops, 2 values}}
  %a, %b = krnl.get_induction_var_value(%l) : (!krnl.loop) -> (index, index)
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{only terminates krnl.iterate, krnl.conv and krnl.fused regions}}
  krnl.yield
}
