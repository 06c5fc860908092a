/** A Kubernetes version that the embedded control plane can be built with. */
export interface KubernetesVersion {
  /** Minor version, such as "1.36". */
  readonly minor: string;
  /** Release, such as "v1.36.3". */
  readonly release: string;
  /** Name of its Go module file in `pkg/devcluster/controlplane`; the checksums are in the `.sum` file next to it. */
  readonly moduleFile: string;
  /** Build flags of this version only. */
  readonly flags: readonly string[];
}

/** The newest supported version, and the default. */
const NEWEST: KubernetesVersion = { minor: "1.36", release: "v1.36.3", moduleFile: "go.mod", flags: [] };

/** The supported versions with an embedded control plane: the oldest and the newest. */
export const KUBERNETES_VERSIONS: readonly KubernetesVersion[] = [
  // Without the cloud providers, which were part of Kubernetes before 1.31 and take minutes to compile.
  { minor: "1.30", release: "v1.30.14", moduleFile: "go-1.30.mod", flags: ["-tags=providerless"] },
  NEWEST,
];

/** Name of the environment variable that selects the version. */
const VARIABLE = "KUBERNETES_VERSION";

/**
 * Returns the version in environment variable `KUBERNETES_VERSION`, such as "1.30" or "v1.30.14", or undefined if it is not set.
 * @throws Error if the version is not supported
 */
export function readKubernetesVersion(env: NodeJS.ProcessEnv): KubernetesVersion | undefined {
  const wanted = env[VARIABLE];
  if (!wanted) return undefined;
  const found = KUBERNETES_VERSIONS.find(({ minor, release }) => [minor, release, release.slice(1)].includes(wanted));
  if (found !== undefined) return found;
  const supported = KUBERNETES_VERSIONS.map(({ minor, release }) => `${minor} (${release})`).join(", ");
  throw new Error(`cannot use ${VARIABLE}=${wanted}: it is not a supported version. Set it to one of ${supported}`);
}

/** Returns the version in `KUBERNETES_VERSION`, or else the newest. @throws Error if the version is not supported */
export function chooseKubernetesVersion(env: NodeJS.ProcessEnv): KubernetesVersion {
  return readKubernetesVersion(env) ?? NEWEST;
}
