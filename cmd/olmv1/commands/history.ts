import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { ANNOTATION_ROLLBACK_TO, LABEL_BUNDLE_NAME, LABEL_BUNDLE_VERSION } from "../../../pkg/api/constants.ts";
import { mapInParallel } from "../../../pkg/async/concurrency.ts";
import { ageText } from "../../../pkg/golang/time.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { ReleaseStore } from "../../../pkg/operatorcontroller/releases/releaseStore.ts";
import { newestFirst, type ReleaseRecord } from "../../../pkg/release/record.ts";
import { unreadableText } from "../../../pkg/release/storage/decode.ts";
import { readExtension } from "../../../pkg/rollout/extensions.ts";
import { withCluster } from "../cli/cluster.ts";
import type { ReleaseOptions } from "../cli/options.ts";
import { type Output, print } from "../cli/output.ts";
import { type Cell, table } from "../cli/table.ts";
import type { Terminal } from "../cli/terminal.ts";

/** A release of an extension, as printed. */
export interface ReleaseRow {
  /** 0 if the Secret does not contain a number. */
  readonly revision: number;
  /** Helm's status, or "unreadable": then `description` names the Secret and says why. */
  readonly status: string;
  readonly bundle: string;
  readonly version: string;
  /** RFC 3339; empty if unknown. */
  readonly deployed: string;
  readonly description: string;
  /** The extension is pinned to it. */
  readonly pinned: boolean;
}

/** Concurrent reads. */
const PARALLEL = 4;

/** Returns the releases of an extension, unreadable ones first, then newest first. @throws KubeError if the Secrets of the system namespace cannot be read. */
export async function releaseRows(client: Client, { metadata }: ClusterExtension, systemNamespace: string): Promise<ReleaseRow[]> {
  const { name, uid = "", annotations = {} } = metadata;
  const store = new ReleaseStore(client, systemNamespace);
  const { current, older, unreadable } = await store.history({ name, uid });
  const before = await mapInParallel(older, PARALLEL, ({ version }) => store.read(name, version));
  const records = [...current, ...before.flatMap((release) => (release?.kind === "readable" ? [release.record] : []))];
  const damaged = [...unreadable, ...before.filter((release) => release?.kind === "unreadable")];
  const texts = [...new Set(damaged.map(unreadableText))];
  return [...texts.map(unreadableRow), ...newestFirst(records).map((record) => rowOf(record, annotations[ANNOTATION_ROLLBACK_TO]))];
}

function unreadableRow(description: string): ReleaseRow {
  return { revision: 0, status: "unreadable", bundle: "", version: "", deployed: "", description, pinned: false };
}

function rowOf({ version, status, labels, lastDeployed, description }: ReleaseRecord, pinned: string | undefined): ReleaseRow {
  return {
    revision: version,
    status,
    bundle: labels[LABEL_BUNDLE_NAME] ?? "",
    version: labels[LABEL_BUNDLE_VERSION] ?? "",
    deployed: lastDeployed,
    description,
    pinned: pinned === String(version),
  };
}

function moodOf(status: string): { mood?: "good" | "bad" } {
  if (status === "deployed") return { mood: "good" };
  return status === "failed" || status === "unreadable" ? { mood: "bad" } : {};
}

/** Formats releases as a table. @param now milliseconds since the epoch. */
export function releasesText(terminal: Pick<Terminal, "width" | "colour">, rows: readonly ReleaseRow[], now: number): string {
  const cells = rows.map(({ revision, status, bundle, version, deployed, description, pinned }): Cell[] => [
    revision === 0 ? "-" : `${revision}${pinned ? " (pinned)" : ""}`,
    { text: status, ...moodOf(status) },
    version,
    bundle,
    ageText(deployed, now),
    description,
  ]);
  return table(terminal, ["REVISION", "STATUS", "VERSION", "BUNDLE", "AGE", "DESCRIPTION"], cells);
}

/** Runs `olmv1 history`. */
export async function history(terminal: Terminal, name: string, options: ReleaseOptions & { output: Output }): Promise<void> {
  await withCluster(options, async (client) => {
    const rows = await releaseRows(client, await readExtension(client, name), options.systemNamespace);
    if (rows.length === 0)
      terminal.err(`ClusterExtension ${name} has no release in namespace ${options.systemNamespace}: no bundle has been installed yet\n`);
    await print(terminal, options.output, { data: rows, text: () => (rows.length === 0 ? "" : releasesText(terminal, rows, Date.now())) });
  });
}
