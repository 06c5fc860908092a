import { ejectExtension } from "../../../pkg/eject/ejectExtension.ts";
import { type EjectPreview, previewEject } from "../../../pkg/eject/ejectPreview.ts";
import { buildHelmChart, buildKustomization, type ExportFormat, formatNextCommand } from "../../../pkg/eject/exportedManifests.ts";
import { requireOwnFolder, writeManifests } from "../../../pkg/eject/manifestFolder.ts";
import type { HelmRelease } from "../../../pkg/eject/ownMarks.ts";
import { goQuote } from "../../../pkg/golang/quote.ts";
import { describeObject } from "../../../pkg/release/identity.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { formatCount, formatList } from "../../../pkg/text/lists.ts";
import { withCluster } from "../cli/cluster.ts";
import { EXIT } from "../cli/errors.ts";
import type { ReleaseOptions } from "../cli/options.ts";
import { withProgress } from "../cli/progress.ts";
import { confirm, type Terminal } from "../cli/terminal.ts";

/** Options of `olmv1 eject`. */
export interface EjectCommandOptions extends ReleaseOptions {
  format: ExportFormat;
  outputDir?: string;
  releaseName?: string;
  force?: boolean;
  dryRun?: boolean;
  yes?: boolean;
  /** Milliseconds. */
  timeout: number;
}

const NEEDS_SHOWN = 3;
/** Names of Helm releases. @see https://helm.sh/docs/chart_template_guide/builtin_objects/ and pkg/chart/v2/util/validate_name.go of helm v3.18.4 */
const RELEASE_NAME = /^[a-z0-9]([-a-z0-9]{0,51}[a-z0-9])?$/;

/** Runs `olmv1 eject`. */
export async function eject(terminal: Terminal, name: string, options: EjectCommandOptions): Promise<void> {
  const { format, outputDir = name, systemNamespace, timeout } = options;
  const releaseName = options.releaseName ?? name;
  if (format === "helm" && !RELEASE_NAME.test(releaseName))
    throw new Error(
      `${goQuote(releaseName)} is not a name of a Helm release. Use --release-name with at most 53 lower-case letters, digits and -`,
    );
  await withCluster(options, async (client) => {
    const preview = await previewEject(client, name, systemNamespace, terminal.signal);
    const helm = format === "helm" ? { name: releaseName, namespace: preview.namespace } : undefined;
    if (preview.dependents.length > 0 && !options.force) {
      terminal.err(formatDependents(preview));
      return terminal.exit(EXIT.no);
    }
    const files = helm ? buildHelmChart(preview.objects, preview.bundle) : buildKustomization(preview.objects);
    await requireOwnFolder(outputDir, files);
    terminal.err(formatPreview(preview));
    if (!options.dryRun && !(await confirm(terminal, `Stop managing ${name}?`, options.yes))) {
      terminal.err("no changes were made\n");
      return terminal.exit(EXIT.no);
    }
    const write = async (): Promise<void> => {
      await writeManifests(outputDir, files);
      terminal.out(`wrote the manifests of ${formatCount(preview.objects.length, "object")} to ${outputDir}\n`);
    };
    if (options.dryRun) {
      await write();
      return terminal.err("no changes were made in the cluster\n");
    }
    await withProgress(terminal, `ejecting ClusterExtension ${name}`, (progress) =>
      ejectExtension(client, preview, {
        helm,
        systemNamespace,
        timeoutMs: timeout,
        signal: terminal.signal,
        writeManifests: write,
        report: (line) => progress.report(escapeControlCharacters(line)),
      }),
    );
    terminal.out(formatEnd(preview, helm, outputDir));
    return undefined;
  });
}

function formatDependents({ extension, dependents }: EjectPreview): string {
  const lines = dependents.map(
    (one) => `  ClusterExtension ${one.extension} (bundle ${one.bundle}) needs ${formatList(one.needs, { max: NEEDS_SHOWN })}`,
  );
  return [
    `ClusterExtension ${extension.metadata.name} is not ejected, because other extensions depend on it:`,
    ...lines,
    "Eject or uninstall them first. With --force, their next upgrade may report unsatisfied dependencies.",
    "",
  ]
    .map(escapeControlCharacters)
    .join("\n");
}

function formatPreview({ extension, bundle, marked, created, dependencies, warnings }: EjectPreview): string {
  const { name } = extension.metadata;
  return [
    `ClusterExtension ${name} will be deleted. Bundle ${bundle.name} does not change: ${formatCount(marked.length, "object")} lose their marks, and no Pod restarts.`,
    "Nothing upgrades the operator, corrects drift, or reports its health afterwards. Its releases and permissions will be deleted.",
    ...created.map((object) => `  including ${describeObject(object)}, which olmv1 install created`),
    ...dependencies.map((one) => `ClusterExtension ${one.metadata.name}, a dependency, stays as an extension of its own.`),
    ...warnings,
    "",
  ]
    .map(escapeControlCharacters)
    .join("\n");
}

function formatEnd({ extension, bundle }: EjectPreview, helm: HelmRelease | undefined, folder: string): string {
  return `${extension.metadata.name}: olmv1 no longer manages ${bundle.name}\nTo manage it from ${folder}: ${formatNextCommand(helm, folder)}\n`;
}
