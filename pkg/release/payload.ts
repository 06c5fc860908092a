import { createHash } from "node:crypto";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { goJson } from "../golang/json.ts";
import { withoutBundleLabels } from "./bundleLabels.ts";
import { withoutOwner } from "./ownerMarks.ts";
import type { ReleaseRecord } from "./record.ts";

/** Characters or bytes in a piece of a long text; a multiple of 3, so that pieces of base64 can be joined. */
const PIECE = 3 * 65_536;

/**
 * Yields a release as Helm's JSON, members in the order in which Go writes them, ended by a newline:
 * the manifest holds one object a line; the chart holds each object as it was rendered, with a template that prints it.
 * `properties`, `requirements`, `inputDigest`, `imageDigest`, `proxy`, `cautions`, `flaws`, `rolledOutAt`, `rolledBack`, `pinnedTo`, `takenOver`,
 * `sourced` and `left` are members of our own, which Go passes over.
 * A piece takes no longer than writing one object does, and may be empty. Objects are written twice rather than kept.
 * @see helm.sh/helm/v3 v3.21 pkg/release/release.go
 */
export function* payloadPieces(record: ReleaseRecord): Generator<string> {
  const files = new Map<string, KubeObject>();
  for (const object of record.objects) {
    files.set(fileName(rendered(object)), object);
    yield "";
  }
  const templates = [...files.keys()].map((name) => ({ name, data: base64(`{{.Files.Get "${name}"}}`) }));
  const hasAnnotations = Object.keys(record.annotations).length > 0;
  const head = {
    name: record.name,
    info: {
      first_deployed: record.firstDeployed,
      last_deployed: record.lastDeployed,
      deleted: "",
      ...(record.description === "" ? {} : { description: record.description }),
      status: record.status,
    },
  };
  const metadata = hasAnnotations ? { annotations: sorted(record.annotations) } : {};
  const chart = { metadata, lock: null, templates, values: null, schema: null };
  yield `${open(head)},"chart":${open(chart)},"files":[`;
  let comma = "";
  for (const [name, object] of files) {
    yield `${comma}${open({ name })},"data":"`;
    yield* base64Pieces(rendered(object));
    yield '"}';
    comma = ",";
  }
  yield ']},"manifest":"';
  for (const object of record.objects) yield* escapedPieces(`${goJson(object)}\n`);
  const tail = {
    version: record.version,
    namespace: record.namespace,
    labels: sorted(record.labels),
    ...(record.properties === undefined ? {} : { properties: record.properties }),
    ...(record.requirements === undefined ? {} : { requirements: record.requirements }),
    ...(record.inputDigest === undefined ? {} : { inputDigest: record.inputDigest }),
    ...(record.imageDigest === undefined ? {} : { imageDigest: record.imageDigest }),
    ...(record.proxy === undefined ? {} : { proxy: record.proxy }),
    ...(record.cautions === undefined ? {} : { cautions: record.cautions }),
    ...(record.flaws === undefined ? {} : { flaws: record.flaws }),
    ...(record.rolledOutAt === undefined ? {} : { rolledOutAt: record.rolledOutAt }),
    ...(record.rolledBack === undefined ? {} : { rolledBack: record.rolledBack }),
    ...(record.pinnedTo === undefined ? {} : { pinnedTo: record.pinnedTo }),
    ...(record.takenOver === undefined ? {} : { takenOver: record.takenOver }),
    ...(record.sourced === undefined ? {} : { sourced: record.sourced }),
    ...(record.left === undefined ? {} : { left: record.left }),
  };
  yield `",${structJson(tail).slice(1)}\n`;
}

/** An object as the bundle renders to it. */
function rendered(object: KubeObject): string {
  return goJson(withoutOwner(withoutBundleLabels(object)));
}

/** Members in the order in which they are given, as those of Go's structs. */
function structJson(value: JsonObject): string {
  return goJson(value, { sortKeys: false });
}

/** The JSON of an object with members, without the brace at its end. */
function open(value: JsonObject): string {
  return structJson(value).slice(0, -1);
}

/** The SHA-256 of the content names a file, cut to eight bytes. */
function fileName(json: string): string {
  return `object-${createHash("sha256").update(json).digest("hex").slice(0, 16)}.json`;
}

function base64(content: string): string {
  return Buffer.from(content, "utf8").toString("base64");
}

/** Yields base64 of the UTF-8 of a text. */
function* base64Pieces(content: string): Generator<string> {
  const bytes = Buffer.from(content, "utf8");
  for (let from = 0; from < bytes.byteLength; from += PIECE) yield bytes.toString("base64", from, from + PIECE);
}

/** Yields a well-formed text as it stands between the quotes of a JSON string. */
function* escapedPieces(text: string): Generator<string> {
  for (let from = 0; from < text.length; ) {
    const piece = text.slice(from, from + PIECE);
    // Half a character is no text that can be written.
    const whole = piece.isWellFormed() ? piece : text.slice(from, from + PIECE + 1);
    yield goJson(whole).slice(1, -1);
    from += whole.length;
  }
}

function sorted(map: Readonly<Record<string, string>>): Record<string, string> {
  const compare = ([a]: [string, string], [b]: [string, string]): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
  return Object.fromEntries(Object.entries(map).sort(compare));
}
