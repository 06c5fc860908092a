import { gunzipSync, gzipSync } from "node:zlib";
import { API_VERSION, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import type { ReleaseStatus } from "../../pkg/release/record.ts";
import { encodeRelease } from "../../pkg/release/storage/encode.ts";
import type { CaseHead } from "./caseFiles.ts";
import { releaseRecord } from "./releases.ts";

/** One release Secret of a case, as `test/cases/release-secrets` describes it. */
export interface SecretParts {
  version?: number;
  status?: ReleaseStatus;
  max?: string | null;
  labels?: Record<string, string | null>;
  named?: string;
  owner?: "own" | "other" | "none";
  replace?: Record<string, string>;
  append?: string;
  data?: Record<string, string>;
  annotations?: Record<string, string>;
}

/** A case: the Secrets of one extension, and the expected result of each reader. */
export interface ReleaseSecretsCase extends CaseHead {
  installed?: string;
  secrets: SecretParts[];
  want: {
    gate: string[];
    installed?: string;
    stops?: boolean;
    history: string[];
    dependents: "installed" | "absent" | "unknown";
  };
}

/** Placeholders in cases for the names of the extension. */
const X = "x";

/** Creates the Secrets of a case for one extension, whose name replaces "x"; some of them refer to `other`, another extension. */
export function releaseSecrets(secrets: readonly SecretParts[], extension: Owner, other: Owner, systemNamespace: string): KubeObject[] {
  return secrets.map((parts) => releaseSecret(parts, extension, parts.owner === "other" ? other : extension, systemNamespace));
}

interface Owner {
  readonly name: string;
  readonly uid: string;
}

function releaseSecret(parts: SecretParts, extension: Owner, referredTo: Owner, systemNamespace: string): KubeObject {
  const { version = 1, status = "deployed", max = '"4.18"', owner = "own", replace = {}, append = "", named, annotations } = parts;
  const record = releaseRecord(version, status, {
    name: extension.name,
    labels: { "olm.operatorframework.io/bundle-name": `x.v${version}`, "olm.operatorframework.io/bundle-version": `${version}.0.0` },
    annotations: max === null ? {} : { "olm.properties": `[{"type":"olm.maxOpenShiftVersion","value":${max}}]` },
  });
  const [index] = encodeRelease(record, { systemNamespace, owner: extension });
  if (!index) throw new Error("no index Secret");
  const data = index["data"] as Record<string, string>;
  const payload = Object.entries(replace).reduce(
    (text, [from, to]) => replaceName(text, from.replace('"x"', JSON.stringify(extension.name)), to),
    gunzipSync(Buffer.from(data["chunk"] ?? "", "base64")).toString(),
  );
  const given = Object.entries(parts.data ?? {}).map(([key, value]) => [key, Buffer.from(value).toString("base64")]);
  const labels = Object.entries({ ...index.metadata.labels, ...parts.labels }).flatMap(([key, value]) =>
    value === null ? [] : [[key, value]],
  );
  return {
    ...index,
    metadata: {
      name: named === undefined ? index.metadata.name : secretName(named, extension.name),
      namespace: systemNamespace,
      labels: Object.fromEntries(labels) as Record<string, string>,
      ...(annotations ? { annotations } : {}),
      ...(owner === "none" ? {} : { ownerReferences: [{ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, ...referredTo }] }),
    },
    data: { ...data, chunk: gzipSync(payload + append).toString("base64"), ...Object.fromEntries(given) },
  };
}

function secretName(named: string, extension: string): string {
  return named.startsWith("sh.helm.") ? named.replace(`.${X}.`, `.${extension}.`) : `${named}-${extension}`;
}

function replaceName(text: string, from: string, to: string): string {
  if (!text.includes(from)) throw new Error(`the payload does not contain ${from}: ${text}`);
  return text.replace(from, to);
}
