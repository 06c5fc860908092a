const KUBE_VERSION = /^v(\d+)(?:(alpha|beta)(\d+))?$/;
const STAGES = ["alpha", "beta", ""];

/**
 * The order of API versions by how far they are: `v1alpha1` < `v1beta1` < `v1beta2` < `v1` < `v2`. Names of another form come first,
 * among themselves backwards.
 * @see https://pkg.go.dev/k8s.io/apimachinery/pkg/version#CompareKubeAwareVersionStrings
 */
export function compareKubeVersions(a: string, b: string): number {
  const [one, other] = [parse(a), parse(b)];
  if (!one || !other) {
    if (one) return 1;
    if (other) return -1;
    return a < b ? 1 : a > b ? -1 : 0;
  }
  for (const [index, part] of one.entries()) {
    const difference = part - (other[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

function parse(name: string): number[] | undefined {
  const [whole, major, stage = "", minor = "0"] = KUBE_VERSION.exec(name) ?? [];
  return whole === undefined ? undefined : [STAGES.indexOf(stage), Number(major), Number(minor)];
}
