import { pushImage } from "../../pkg/oci/publish/push.ts";
import type { TestCluster } from "./cluster.ts";

/** Label of a catalog image that names the folder of its file-based catalog. */
const CONFIGS_LABEL = "operators.operatorframework.io.index.configs.v1";
const PACKAGE_LABEL = "operators.operatorframework.io.bundle.package.v1";

/** A registry that can only be reached through its mirror. */
const MIRRORED_REGISTRY = "mirrored.example.com";

type Registry = TestCluster["registry"];
type Files = ReadonlyMap<string, Uint8Array>;

/** Pushes a catalog so that `quay.io/repository:tag` is its reference. @returns the reference by digest. */
export async function pushCatalogImage(registry: Registry, repository: string, tag: string, files: Files): Promise<string> {
  const placed = new Map([...files].map(([path, content]) => [`configs/${path}`, content]));
  return push(registry, repository, tag, { files: placed, labels: { [CONFIGS_LABEL]: "/configs" } });
}

/** Pushes a bundle so that `quay.io/repository:tag` is its reference. @returns the reference by digest. */
export async function pushBundleImage(
  registry: Registry,
  repository: string,
  tag: string,
  packageName: string,
  files: Files,
): Promise<string> {
  return push(registry, repository, tag, { files: new Map(files), labels: { [PACKAGE_LABEL]: packageName } });
}

async function push(
  registry: Registry,
  repository: string,
  tag: string,
  image: { files: Map<string, Uint8Array>; labels: Record<string, string> },
): Promise<string> {
  const { digest } = await pushImage(registry, repository, tag, image);
  return `quay.io/${repository}@${digest}`;
}

/** Returns registries.conf text: the registry at `host` replaces quay.io and is the mirror of MIRRORED_REGISTRY. */
export function formatRegistriesConf(host: string): string {
  const endpoint = `location = "${host}"\ninsecure = true\n`;
  return (
    `[[registry]]\n${endpoint}[[registry]]\nprefix = "quay.io"\n${endpoint}` +
    `[[registry]]\nprefix = "${MIRRORED_REGISTRY}"\nlocation = "${MIRRORED_REGISTRY}"\n[[registry.mirror]]\n${endpoint}`
  );
}
