import type { KubeObject } from "../../../pkg/api/k8s.ts";
import { toYaml } from "../../../pkg/golang/yaml.ts";
import {
  type BundleOptions,
  type BundlePermissions,
  computeBundlePermissions,
  diffPermissions,
  formatPermissionsDiff,
  mergeRules,
  removeDuplicateObjects,
} from "../../../pkg/installer/bundlePermissions.ts";
import { type RenderableBundle, toRenderableBundle } from "../../../pkg/operatorcontroller/bundles/bundleCache.ts";
import {
  buildInstallerManifests,
  buildTokenManifests,
  getControllerSubject,
  type Installer,
} from "../../../pkg/rbac/installerManifests.ts";
import { isEmptyRules } from "../../../pkg/rbac/ruleSets.ts";
import { type BundleReader, withReader } from "../../../pkg/sources/bundleReader.ts";
import { type BundleSource, resolveSources, type SourceOptions } from "../../../pkg/sources/bundleSources.ts";
import { escapeLines } from "../../../pkg/text/escape.ts";
import { EXIT } from "../cli/errors.ts";
import type { Terminal } from "../cli/terminal.ts";

/** Options of `olmv1 rbac`. */
export interface RbacOptions extends BundleOptions, SourceOptions {
  tokenOnly?: boolean;
  userRoles?: boolean;
  diff?: string;
  systemNamespace: string;
  registriesConf?: string;
  signaturePolicy?: string;
  authFile?: string;
}

/** Runs `olmv1 rbac`. */
export async function showRbac(terminal: Terminal, bundles: readonly string[], options: RbacOptions): Promise<void> {
  await withReader(options, (reader) => run(terminal, bundles, options, reader), terminal.signal);
}

async function run(terminal: Terminal, bundles: readonly string[], options: RbacOptions, reader: BundleReader): Promise<void> {
  const controller = getControllerSubject(options.systemNamespace);
  if (options.tokenOnly) {
    const { namespace, serviceAccount: name } = options;
    if (namespace === undefined || name === undefined) throw new Error("--token-only requires --namespace and --service-account");
    return printObjects(terminal, buildTokenManifests({ namespace, name }, controller));
  }
  const sources = await resolveSources(bundles, options, reader);
  if (sources.length === 0) throw new Error("no bundle: specify at least one bundle folder or image, or use --token-only");
  const permissions = await computeSourcePermissions(terminal, sources, options, reader);
  if (options.userRoles) return printObjects(terminal, removeDuplicateObjects(permissions.flatMap(({ userRoles }) => userRoles)));
  if (options.diff !== undefined) {
    const from = await computeSourcePermissions(
      terminal,
      await resolveSources([options.diff], options, reader, bundles),
      options,
      reader,
      permissions[0]?.installer,
    );
    const diff = diffPermissions(from, permissions);
    terminal.out(formatPermissionsDiff(diff));
    if (!isEmptyRules(diff.installer.added) || !isEmptyRules(diff.operator.added)) terminal.exit(EXIT.no);
    return undefined;
  }
  const [first] = permissions;
  if (!first) throw new Error("no bundle");
  // A line end in a name would end the comment, and the bundle could add objects to the output.
  terminal.out(`# for ${permissions.map(({ name }) => escapeLines(name)).join(", ")}\n`);
  return printObjects(terminal, buildInstallerManifests(first.installer, mergeRules(permissions), controller));
}

/** Computes permissions of bundles in folders and images. @param installer for all bundles; default: from the options */
function computeSourcePermissions(
  terminal: Terminal,
  sources: readonly BundleSource[],
  options: RbacOptions,
  reader: BundleReader,
  installer?: Installer,
): Promise<BundlePermissions[]> {
  const images = new Set(sources.filter(({ isImage }) => isImage).map(({ source }) => source));
  const read = async (source: string): Promise<RenderableBundle> =>
    images.has(source) ? reader.bundleImage(source) : toRenderableBundle(await reader.bundle(source));
  return computeBundlePermissions(
    terminal,
    sources.map(({ source }) => source),
    options,
    read,
    installer,
  );
}

function printObjects(terminal: Terminal, objects: readonly KubeObject[]): void {
  terminal.out(objects.map((object) => `---\n${toYaml(object)}`).join(""));
}
