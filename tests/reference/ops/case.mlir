// Values: by hand. An index outside picks the last branch.

func.func @main() {
  %i = stablehlo.constant dense<0> : tensor<i32>
  %y = "stablehlo.case"(%i) ({
    %a = stablehlo.constant dense<100> : tensor<i64>
    stablehlo.return %a : tensor<i64>
  }, {
    %a = stablehlo.constant dense<200> : tensor<i64>
    stablehlo.return %a : tensor<i64>
  }, {
    %a = stablehlo.constant dense<300> : tensor<i64>
    stablehlo.return %a : tensor<i64>
  }) : (tensor<i32>) -> tensor<i64>
  check.expect_eq_const %y, dense<100> : tensor<i64>
  func.return
}

// -----

func.func @main() {
  %i = stablehlo.constant dense<1> : tensor<i32>
  %y = "stablehlo.case"(%i) ({
    %a = stablehlo.constant dense<100> : tensor<i64>
    stablehlo.return %a : tensor<i64>
  }, {
    %a = stablehlo.constant dense<200> : tensor<i64>
    stablehlo.return %a : tensor<i64>
  }, {
    %a = stablehlo.constant dense<300> : tensor<i64>
    stablehlo.return %a : tensor<i64>
  }) : (tensor<i32>) -> tensor<i64>
  check.expect_eq_const %y, dense<200> : tensor<i64>
  func.return
}

// -----

func.func @main() {
  %i = stablehlo.constant dense<2> : tensor<i32>
  %y = "stablehlo.case"(%i) ({
    %a = stablehlo.constant dense<100> : tensor<i64>
    stablehlo.return %a : tensor<i64>
  }, {
    %a = stablehlo.constant dense<200> : tensor<i64>
    stablehlo.return %a : tensor<i64>
  }, {
    %a = stablehlo.constant dense<300> : tensor<i64>
    stablehlo.return %a : tensor<i64>
  }) : (tensor<i32>) -> tensor<i64>
  check.expect_eq_const %y, dense<300> : tensor<i64>
  func.return
}

// -----

func.func @main() {
  %i = stablehlo.constant dense<3> : tensor<i32>
  %y = "stablehlo.case"(%i) ({
    %a = stablehlo.constant dense<100> : tensor<i64>
    stablehlo.return %a : tensor<i64>
  }, {
    %a = stablehlo.constant dense<200> : tensor<i64>
    stablehlo.return %a : tensor<i64>
  }, {
    %a = stablehlo.constant dense<300> : tensor<i64>
    stablehlo.return %a : tensor<i64>
  }) : (tensor<i32>) -> tensor<i64>
  check.expect_eq_const %y, dense<300> : tensor<i64>
  func.return
}

// -----

func.func @main() {
  %i = stablehlo.constant dense<-1> : tensor<i32>
  %y = "stablehlo.case"(%i) ({
    %a = stablehlo.constant dense<100> : tensor<i64>
    stablehlo.return %a : tensor<i64>
  }, {
    %a = stablehlo.constant dense<200> : tensor<i64>
    stablehlo.return %a : tensor<i64>
  }, {
    %a = stablehlo.constant dense<300> : tensor<i64>
    stablehlo.return %a : tensor<i64>
  }) : (tensor<i32>) -> tensor<i64>
  check.expect_eq_const %y, dense<300> : tensor<i64>
  func.return
}
