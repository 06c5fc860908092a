import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { SYSTEM_NAMESPACE } from "../../../pkg/api/constants.ts";
import type { KubeObject } from "../../../pkg/api/k8s.ts";
import { loadBundle } from "../../../pkg/bundle/load.ts";
import type { BundleFiles } from "../../../pkg/bundle/types.ts";
import { wrapError } from "../../../pkg/errors/errors.ts";
import { toYaml } from "../../../pkg/fbc/yaml.ts";
import { BUNDLE_LIMITS } from "../../../pkg/oci/limits.ts";
import { Puller } from "../../../pkg/oci/puller.ts";
import { readBundleFiles } from "../../../pkg/operatorcontroller/bundleFiles.ts";
import { installerManifests, type Subject, tokenManifests } from "../../../pkg/rbac/manifest.ts";
import { requiredRules } from "../../../pkg/rbac/rules.ts";
import { unionOf } from "../../../pkg/rbac/union.ts";
import { renderBundle } from "../../../pkg/render/render.ts";
import { createLogger } from "../../../pkg/telemetry/log.ts";

interface RbacOptions {
  namespace: string;
  serviceAccount: string;
  watchNamespace?: string;
  tokenOnly?: boolean;
  systemNamespace: string;
  registriesConf?: string;
  authFile?: string;
}

/** Adds `olmv1 rbac`: the ServiceAccount that can install given bundles, with no right that they do not need. */
export function addRbac(program: Command): void {
  program
    .command("rbac")
    .description("print the ServiceAccount, roles and bindings with which a ClusterExtension can install the given bundles (their union)")
    .argument("[bundles...]", "bundle folders (manifests/ and metadata/) or bundle images")
    .requiredOption("--namespace <name>", "spec.namespace of the ClusterExtension")
    .requiredOption("--service-account <name>", "spec.serviceAccount.name of the ClusterExtension")
    .option("--watch-namespace <name>", "spec.config.inline.watchNamespace of the ClusterExtension")
    .option("--token-only", "print only what lets operator-controller act as the ServiceAccount")
    .option("--system-namespace <name>", "namespace of operator-controller", SYSTEM_NAMESPACE)
    .option("--registries-conf <path>", "a registries.conf for bundle images")
    .option("--auth-file <path>", "a docker config file with registry credentials")
    .action(async (bundles: string[], options: RbacOptions) => {
      const objects = await manifests(bundles, options);
      process.stdout.write(objects.map((object) => `---\n${toYaml(object)}`).join(""));
    });
}

async function manifests(bundles: readonly string[], options: RbacOptions): Promise<KubeObject[]> {
  const installer = { namespace: options.namespace, name: options.serviceAccount };
  const controller: Subject = {
    kind: "ServiceAccount",
    namespace: options.systemNamespace,
    name: "operator-controller-controller-manager",
  };
  if (options.tokenOnly) return tokenManifests(installer, controller);
  if (bundles.length === 0) throw new Error("no bundle given: name at least one bundle folder or image, or use --token-only");
  const config = options.watchNamespace === undefined ? undefined : { watchNamespace: options.watchNamespace };
  const rules = [];
  for (const bundle of bundles) {
    try {
      const objects = renderBundle(loadBundle(await filesOf(bundle, options)), { installNamespace: options.namespace, config });
      rules.push(requiredRules(objects, { installNamespace: options.namespace }));
    } catch (err) {
      throw wrapError(`${bundle}: `, err);
    }
  }
  return installerManifests(installer, unionOf(rules), controller);
}

async function filesOf(bundle: string, { registriesConf, authFile }: RbacOptions): Promise<BundleFiles> {
  if ((await stat(bundle).catch(() => undefined))?.isDirectory()) return readBundleFiles(bundle);
  const cacheDir = await mkdtemp(join(tmpdir(), "olmv1-rbac-"));
  const log = createLogger({ component: "olmv1", level: "error", destination: process.stderr });
  const puller = new Puller({ cacheDir, limits: BUNDLE_LIMITS, registriesConf, authFile, log });
  try {
    const image = await puller.pull("bundle", bundle, { signal: AbortSignal.timeout(BUNDLE_LIMITS.timeoutMs) });
    return await readBundleFiles(image.dir);
  } finally {
    await puller.remove("bundle");
    await puller.close();
    await rm(cacheDir, { recursive: true, force: true });
  }
}
