import type { ClusterUpgrade, UpgradeRow } from "../../consoleapi/clusterUpgrade.ts";
import type { MoodText } from "../../consoleapi/live.ts";
import type { UpgradeCheck, UpgradeCheckRow } from "../../openshift/upgradeCheck.ts";
import { describeUpgradeVerdict, listUpgradeRemedies } from "../../preview/clusterUpgradePreview.ts";
import { toSentence } from "../../text/sentence.ts";
import { NAME_LENGTH, truncate } from "../../text/truncate.ts";
import type { ClusterVersion } from "../../version/clusterVersion.ts";

const MAX_ROWS = 2_000;
const MAX_MESSAGE = 2_000;
/** The verdict of the command line begins with this word, which the state shows. */
const VERDICT_WORD = /^[A-Z]+: /;

const VERDICTS: Readonly<Record<UpgradeCheckRow["verdict"], MoodText>> = {
  blocked: { text: "Blocks", mood: "bad" },
  error: { text: "Unknown maximum", mood: "bad" },
  compatible: { text: "Supports it", mood: "good" },
  unlimited: { text: "No maximum", mood: "good" },
  "not installed": { text: "Not installed", mood: "faint" },
};

/** Describes the version of the cluster. */
export function describeCluster(cluster: ClusterVersion): ClusterUpgrade["cluster"] {
  if (cluster.kind === "known") return { kind: "known", version: cluster.text, sentence: `The cluster has OpenShift ${cluster.text}.` };
  if (cluster.kind === "none")
    return {
      kind: "none",
      sentence:
        "This cluster is not an OpenShift cluster, so no extension blocks its upgrades. Bundles only declare maximum versions of OpenShift.",
    };
  return { kind: "unknown", sentence: `The version of the cluster cannot be read: ${truncate(cluster.reason, MAX_MESSAGE)}.` };
}

/** Describes the result of a check: extensions that block the upgrade first, and what lifts each block. */
export function describeCheck(check: UpgradeCheck, isDefaultTarget: boolean): NonNullable<ClusterUpgrade["check"]> {
  const { target, upgradeable, extensions } = check;
  const rows = extensions.toSorted((a, b) => Number(b.blocks) - Number(a.blocks)).slice(0, MAX_ROWS);
  const blocked: MoodText = { text: "Blocked", mood: "bad" };
  return {
    target,
    upgradeable,
    state: upgradeable ? { text: "Not blocked", mood: "good" } : blocked,
    sentence: toSentence(describeUpgradeVerdict(check).replace(VERDICT_WORD, "")),
    rows: rows.map(toRow),
    remedies: listUpgradeRemedies(check).map(({ extension, text }) => ({ extension, text: truncate(text, MAX_MESSAGE) })),
    command: `olmv1 cluster-upgrade-check${isDefaultTarget ? "" : ` --to ${target}`}`,
  };
}

function toRow({ extension, bundle, version, maximum, verdict, blocks, message }: UpgradeCheckRow): UpgradeRow {
  return {
    extension,
    bundle: truncate(bundle, NAME_LENGTH),
    version: truncate(version, NAME_LENGTH),
    maximum: maximum ?? undefined,
    state: verdict === "error" && !blocks ? { ...VERDICTS.error, mood: "warning" } : VERDICTS[verdict],
    blocks,
    message: truncate(message, MAX_MESSAGE),
  };
}
