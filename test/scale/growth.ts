/** A size with a measured value. */
export type Point = readonly [size: number, value: number];

/**
 * Returns the exponent of growth: the slope of the line that fits the logarithms best. 1 is linear growth, 0 none.
 * @returns undefined for fewer than two sizes, or a value that is not positive
 */
export function fitExponent(points: readonly Point[]): number | undefined {
  if (new Set(points.map(([size]) => size)).size < 2 || points.some(([size, value]) => size <= 0 || value <= 0)) return undefined;
  const logs = points.map(([size, value]) => [Math.log(size), Math.log(value)] as const);
  const mean = (of: (point: readonly [number, number]) => number): number => logs.reduce((sum, point) => sum + of(point), 0) / logs.length;
  const [meanX, meanY] = [mean(([x]) => x), mean(([, y]) => y)];
  const covariance = logs.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  return covariance / logs.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
}
