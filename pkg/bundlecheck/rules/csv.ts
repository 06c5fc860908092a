import { isObject } from "../../api/jsonObject.ts";
import { subdomainFaults } from "../../bundle/dns.ts";
import { operatorVersion } from "../../bundle/operatorVersion.ts";
import { unknownMembers } from "../../bundle/unknownMembers.ts";
import { messageOf } from "../../errors/errors.ts";
import { goQuote } from "../../errors/goQuote.ts";
import { objectAt } from "../../fbc/members.ts";
import { parseRange } from "../../version/blang.ts";
import { parseVersion } from "../../version/version.ts";
import { type BundleContent } from "../content.ts";
import { pathText } from "../pathText.ts";
import { type Breach, error, info, type RuleTable, warning } from "../rule.ts";
import { Source } from "../source.ts";

const KUBE_VERSION = /^v?\d{1,5}(\.\d{1,5}){1,2}$/;
const INSTALL_MODES = ["AllNamespaces", "MultiNamespace", "OwnNamespace", "SingleNamespace"];

/** What a ClusterServiceVersion must hold to be taken for what it means. */
export const CSV_RULES: RuleTable = {
  "csv-name-missing": error("The CSV has a name.", Source.packaging, nameMissing),
  "csv-name-invalid": warning("The name of the CSV is a DNS-1123 subdomain.", Source.packaging, nameInvalid),
  "csv-name-version": info("The name of the CSV tells its version.", Source.packaging, nameVersion),
  "csv-version-missing": error("The CSV has a version.", Source.packaging, versionMissing),
  "csv-version-form": warning("The version of the CSV is written as a semantic version.", Source.packaging, versionForm),
  "unknown-field": warning("The CSV holds only fields that it has: all others are dropped.", Source.controller, unknownFields),
  "install-mode-unknown": warning("Install modes are known ones.", Source.format, installModes),
  "min-kube-version": warning("minKubeVersion is a version of Kubernetes.", Source.packaging, minKubeVersion),
  "skip-range": warning("The annotation olm.skipRange is a range of versions.", Source.packaging, skipRange),
  replaces: warning("The CSV does not replace or skip itself.", Source.packaging, replaces),
};

function nameOf({ csv }: BundleContent): string {
  return csv?.metadata.name ?? "";
}

/** The version as it is written; what Go's types hold is never empty. */
function writtenVersion({ csvManifest }: BundleContent): string {
  const version = csvManifest && objectAt(csvManifest.object, "spec")["version"];
  return typeof version === "string" ? version : "";
}

function nameMissing(content: BundleContent): Breach[] {
  if (!content.csv || nameOf(content) !== "") return [];
  return [{ message: "the CSV has no metadata.name: give it one such as my-operator.v1.0.0", at: content.inCsv("metadata") }];
}

function nameInvalid(content: BundleContent): Breach[] {
  const name = nameOf(content);
  const faults = name === "" ? [] : subdomainFaults(name);
  return faults.map((fault) => ({ message: `CSV name ${goQuote(name)}: ${fault}`, at: content.inCsv("metadata", "name") }));
}

function nameVersion(content: BundleContent): Breach[] {
  const [name, version] = [nameOf(content), writtenVersion(content)];
  // What may not stand in a name is often replaced there.
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9]/g, "-");
  if (name === "" || version === "" || plain(name).endsWith(plain(version))) return [];
  return [{ message: `CSV name ${goQuote(name)} does not end with its version ${version}`, at: content.inCsv("metadata", "name") }];
}

function versionMissing(content: BundleContent): Breach[] {
  if (!content.csv || writtenVersion(content) !== "") return [];
  return [{ message: "spec.version is missing: the bundle would have version 0.0.0", at: content.inCsv("spec") }];
}

function versionForm(content: BundleContent): Breach[] {
  const written = writtenVersion(content);
  if (!content.csv || written === "") return [];
  try {
    parseVersion(written);
    return [];
  } catch (err) {
    const read = operatorVersion(written);
    return [{ message: `spec.version ${goQuote(written)} is read as ${read}: ${messageOf(err)}`, at: content.inCsv("spec", "version") }];
  }
}

function unknownFields({ csvManifest }: BundleContent): Breach[] {
  if (!csvManifest) return [];
  const { metadata: _, ...object } = csvManifest.object;
  return unknownMembers("operators/v1alpha1.ClusterServiceVersion", object)
    .filter(({ path }) => path[0] !== "status")
    .map(({ path, meant }) => ({
      message: `${pathText(path)} is not known and is dropped${meant === undefined ? "" : `: is ${meant} meant?`}`,
      at: { manifest: csvManifest, path },
    }));
}

function installModes(content: BundleContent): Breach[] {
  return (content.csv?.spec.installModes ?? []).flatMap(({ type }, i) =>
    INSTALL_MODES.includes(type)
      ? []
      : [
          {
            message: `install mode ${goQuote(type)} is not known and has no effect: there are ${INSTALL_MODES.join(", ")}`,
            at: content.inCsv("spec", "installModes", i, "type"),
          },
        ],
  );
}

function minKubeVersion(content: BundleContent): Breach[] {
  const version = content.csv?.spec.minKubeVersion ?? "";
  if (version === "" || KUBE_VERSION.test(version)) return [];
  return [{ message: `minKubeVersion ${goQuote(version)} is no version such as 1.27.0`, at: content.inCsv("spec", "minKubeVersion") }];
}

function skipRange(content: BundleContent): Breach[] {
  const range = content.csvAnnotations["olm.skipRange"] ?? "";
  if (range === "") return [];
  try {
    parseRange(range);
    return [];
  } catch (err) {
    return [
      {
        message: `olm.skipRange ${goQuote(range)} is no range of versions: ${messageOf(err)}`,
        at: content.inCsv("metadata", "annotations", "olm.skipRange"),
      },
    ];
  }
}

function replaces(content: BundleContent): Breach[] {
  const spec: unknown = content.csv?.spec;
  const name = nameOf(content);
  if (!isObject(spec) || name === "") return [];
  const skips = Array.isArray(spec["skips"]) ? spec["skips"] : [];
  return [
    ...(spec["replaces"] === name ? [{ message: `the CSV replaces itself, ${name}`, at: content.inCsv("spec", "replaces") }] : []),
    ...(skips.includes(name)
      ? [{ message: `the CSV skips itself, ${name}`, at: content.inCsv("spec", "skips", skips.indexOf(name)) }]
      : []),
  ];
}
