/** The machines that a version of an Operator runs on; each list sorted and never empty, unless labels withdraw all. */
export interface Platforms {
  architectures: string[];
  operatingSystems: string[];
}

const ARCHITECTURE = "operatorframework.io/arch.";
const OPERATING_SYSTEM = "operatorframework.io/os.";
const MAX_PLATFORMS = 32;
const PLATFORM = /^[\w.-]{1,63}$/;

/**
 * The platforms that the labels of a ClusterServiceVersion name with the value "supported". Without any architecture label it is amd64, without any
 * operating system label linux; one label of a kind, whatever its value, is enough to end the default of that kind.
 * @see operator-lifecycle-manager pkg/package-server/provider/registry.go
 */
export function platformsFrom(labels: Readonly<Record<string, unknown>>): Platforms {
  return {
    architectures: supported(labels, ARCHITECTURE, "amd64"),
    operatingSystems: supported(labels, OPERATING_SYSTEM, "linux"),
  };
}

function supported(labels: Readonly<Record<string, unknown>>, prefix: string, byDefault: string): string[] {
  const named = Object.entries(labels).filter(([label]) => label.startsWith(prefix));
  if (named.length === 0) return [byDefault];
  const names = named.flatMap(([label, value]) => (value === "supported" ? [label.slice(prefix.length)] : []));
  return names
    .filter((name) => PLATFORM.test(name))
    .sort()
    .slice(0, MAX_PLATFORMS);
}
