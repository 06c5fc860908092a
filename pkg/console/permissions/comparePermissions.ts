import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { YAML_MAX } from "../../consoleapi/actions.ts";
import type { NeededPermissions, PermissionsComparison } from "../../consoleapi/permissions.ts";
import { toYaml } from "../../golang/yaml.ts";
import { computeBundlePermissions } from "../../installer/bundlePermissions.ts";
import { buildInstallerObjects } from "../../installer/installerObjects.ts";
import { computeNewPermissions, type NewPermissions } from "../../installer/installerPermissions.ts";
import type { Client } from "../../kube/client.ts";
import { CertificateProviders } from "../../operatorcontroller/apply/certificateProviders.ts";
import { previewPermissions } from "../../preview/permissionPreview.ts";
import type { DependencySearch } from "../../preview/previewChoice.ts";
import { answerResolution } from "../../preview/resolutionAnswers.ts";
import { readResolutionSubject } from "../../preview/resolutionSubject.ts";
import { buildInstallerManifests, getControllerSubject } from "../../rbac/installerManifests.ts";
import { placeRules } from "../../rollout/placedRules.ts";
import { type ReaderOptions, withReader } from "../../sources/bundleReader.ts";
import type { CatalogLease } from "../../sources/keptCatalogs.ts";
import { toSentence } from "../../text/sentence.ts";
import { formatVersionRelease } from "../../version/version.ts";
import { ConsoleError } from "../http/consoleError.ts";
import { buildPermissionsPreview } from "./permissionsPreview.ts";
import { buildRuleList } from "./ruleRows.ts";

/** What a comparison reads. */
export interface ComparisonRequest {
  readonly client: Client;
  /** With the limits to try. */
  readonly extension: ClusterExtension;
  readonly lease: CatalogLease;
  readonly registry: ReaderOptions;
  readonly search: DependencySearch;
  readonly systemNamespace: string;
  readonly signal: AbortSignal;
}

/**
 * Compares the permissions that the next bundle of an extension needs with those of the installed bundle. Writes nothing.
 * @throws ConsoleError notFound if no bundle is selected
 */
export async function comparePermissions(request: ComparisonRequest): Promise<PermissionsComparison> {
  const { client, extension, lease, registry, search, systemNamespace, signal } = request;
  const { name } = extension.metadata;
  const subject = await readResolutionSubject({ extension: name }, extension, {}, { client, reader: lease, search, signal });
  const { resolution } = await answerResolution(subject);
  if (resolution.kind !== "resolved")
    throw new ConsoleError("notFound", "no bundle is selected, so its permissions are unknown", {
      next: "The tab about versions shows which rule excludes each version.",
    });
  const { bundle, catalog, version } = resolution;
  const installed = extension.status?.install?.bundle.name;
  const found = {
    ...(installed === undefined ? {} : { installed }),
    bundle: { name: bundle.name, version: formatVersionRelease(version), catalog },
  };
  const managed = await withReader(
    registry,
    async (reader) =>
      previewPermissions({
        client,
        extension,
        bundle: await reader.bundleImage(bundle.image),
        catalog: subject.catalogs.find(({ metadata }) => metadata.name === catalog),
        providers: new CertificateProviders(client, "auto"),
        systemNamespace,
      }),
    signal,
  );
  if (managed) return { ...found, managed: buildPermissionsPreview(managed) };
  const needed = await computeNewPermissions(client, extension, {
    image: bundle.image,
    systemNamespace,
    read: (images, options) =>
      withReader(
        registry,
        (reader) => computeBundlePermissions({ err: () => undefined }, images, options, (image) => reader.bundleImage(image)),
        signal,
      ),
  });
  if (needed) return { ...found, own: buildNeeded(extension, needed, systemNamespace) };
  return { ...found, note: "The controller installs the bundle with its own permissions." };
}

function buildNeeded(extension: ClusterExtension, permissions: NewPermissions, systemNamespace: string): NeededPermissions {
  const { rules, diff, command, unread } = permissions;
  const yaml = formatManifests(extension, permissions, systemNamespace);
  return {
    added: buildRuleList(placeRules(diff.installer.added)),
    removed: buildRuleList(placeRules(diff.installer.removed)),
    operatorAdded: buildRuleList(placeRules(diff.operator.added)),
    operatorRemoved: buildRuleList(placeRules(diff.operator.removed)),
    needed: buildRuleList(placeRules(rules)),
    ...(unread === undefined ? {} : { unread: toSentence(unread) }),
    ...(yaml.length > YAML_MAX ? {} : { yaml }),
    command,
  };
}

/** Formats the objects that `olmv1 rbac` prints; with the label of `olmv1 install` if it created the ServiceAccount. */
function formatManifests(
  { metadata: { name } }: ClusterExtension,
  { installer, rules, isOurs }: NewPermissions,
  systemNamespace: string,
): string {
  const objects = isOurs
    ? buildInstallerObjects(name, installer, rules, systemNamespace)
    : buildInstallerManifests(installer, rules, getControllerSubject(systemNamespace));
  return objects.map((object) => `---\n${toYaml(object)}`).join("");
}
