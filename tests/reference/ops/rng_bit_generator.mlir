// Values: Threefry-2x32 with 20 rounds, written in Python from its description and confirmed by the known answers of Random123;
// Philox-4x32 with 10 rounds likewise.
// The counter runs over the border of its low word.

func.func @main() {
  %state = stablehlo.constant dense<[81985529216486895, 4294967294]> : tensor<2xui64>
  %new, %bits = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2x2xui64>)
  check.expect_eq_const %bits, dense<[[10372414236116672280, 12562852127794286605], [5932103451041929408, 10047180861078900040]]> : tensor<2x2xui64>
  check.expect_eq_const %new, dense<[81985529216486895, 4294967298]> : tensor<2xui64>
  func.return
}

// -----

// Philox, 32 bits: four words of each counter in order; the state is key, counter low, counter high.
func.func @main() {
  %state = stablehlo.constant dense<[16045690981116495207, 4294967295, 21474836487]> : tensor<3xui64>
  %new, %bits = stablehlo.rng_bit_generator %state, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<2x4xui32>)
  check.expect_eq_const %bits, dense<[[2010777756, 2476530676, 2940479045, 2532123971], [1697880392, 430664950, 2307394675, 2786326753]]> : tensor<2x4xui32>
  check.expect_eq_const %new, dense<[16045690981116495207, 4294967297, 21474836487]> : tensor<3xui64>
  func.return
}

// -----

// Philox, 64 bits: two words make one, the low one first.
func.func @main() {
  %state = stablehlo.constant dense<[16045690981116495207, 4294967295, 21474836487]> : tensor<3xui64>
  %new, %bits = stablehlo.rng_bit_generator %state, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<4xui64>)
  check.expect_eq_const %bits, dense<[10636618262971549852, 10875389647803131461, 1849691877481355592, 11967182282412264563]> : tensor<4xui64>
  check.expect_eq_const %new, dense<[16045690981116495207, 4294967297, 21474836487]> : tensor<3xui64>
  func.return
}

// -----

// Threefry, 32 bits: the two words of a counter are neighbours along the first dimension of even size.
func.func @main() {
  %state = stablehlo.constant dense<[81985529216486895, 5]> : tensor<2xui64>
  %new, %bits = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4x3xui32>)
  check.expect_eq_const %bits, dense<[[2963079838, 1822680882, 3356640791], [2105865281, 2755357497, 544688494], [3039885333, 2516300363, 3933500718], [3989734403, 2731057536, 721802571]]> : tensor<4x3xui32>
  check.expect_eq_const %new, dense<[81985529216486895, 11]> : tensor<2xui64>
  func.return
}

// -----

func.func @main() {
  %state = stablehlo.constant dense<[81985529216486895, 5]> : tensor<2xui64>
  %new, %bits = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x2xui32>)
  check.expect_eq_const %bits, dense<[[2963079838, 2105865281], [1822680882, 2755357497], [3356640791, 544688494]]> : tensor<3x2xui32>
  check.expect_eq_const %new, dense<[81985529216486895, 8]> : tensor<2xui64>
  func.return
}

// -----

// No even size: the largest dimension, and the last word is left out.
func.func @main() {
  %state = stablehlo.constant dense<[81985529216486895, 5]> : tensor<2xui64>
  %new, %bits = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3xui32>)
  check.expect_eq_const %bits, dense<[2963079838, 2105865281, 1822680882]> : tensor<3xui32>
  check.expect_eq_const %new, dense<[81985529216486895, 7]> : tensor<2xui64>
  func.return
}
