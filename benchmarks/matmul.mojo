# c = a b for n x n matrices of float32: the triple loop, its inner loop along the rows, and the
# same with the rows taken several numbers at a time, as a language with vectors lets one write it.

from std.sys import simd_width_of

comptime Numbers = UnsafePointer[Float32, MutAnyOrigin]
comptime WIDTH = 4 * simd_width_of[DType.float32]()


@export
def loops(first: Int, second: Int, result: Int, n: Int) abi("C"):
    var a = Numbers(unsafe_from_address=first)
    var b = Numbers(unsafe_from_address=second)
    var c = Numbers(unsafe_from_address=result)
    for i in range(n):
        for j in range(n):
            c[i * n + j] = 0
        for p in range(n):
            var factor = a[i * n + p]
            for j in range(n):
                c[i * n + j] += factor * b[p * n + j]


@export
def vectors(first: Int, second: Int, result: Int, n: Int) abi("C"):
    var a = Numbers(unsafe_from_address=first)
    var b = Numbers(unsafe_from_address=second)
    var c = Numbers(unsafe_from_address=result)
    var whole = n - n % WIDTH
    for i in range(n):
        for j in range(n):
            c[i * n + j] = 0
        for p in range(n):
            var factor = a[i * n + p]
            for j in range(0, whole, WIDTH):
                var sum = c.load[width=WIDTH](i * n + j) + factor * b.load[width=WIDTH](p * n + j)
                c.store(i * n + j, sum)
            for j in range(whole, n):
                c[i * n + j] += factor * b[p * n + j]
