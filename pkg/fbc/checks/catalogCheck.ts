import { Schema } from "../content.ts";
import type { ContentPlace } from "../contentError.ts";
import type { PlacedMeta } from "../types.ts";
import { checkBundle } from "./bundleCheck.ts";
import type { ObjectDepth } from "./bundleObject.ts";
import { checkChannel } from "./channelCheck.ts";
import { ContentRules } from "./contentRules.ts";
import { checkDeprecations } from "./deprecationCheck.ts";
import type { Finding, Subject } from "./finding.ts";
import { FindingLog } from "./findingLog.ts";
import { checkModel, type ModelFacts } from "./modelCheck.ts";
import { NameTable } from "./nameTable.ts";
import { checkPackage } from "./packageCheck.ts";
import { quoted } from "./quoted.ts";
import { shapeFaults } from "./shape.ts";
import { SCHEMA_SHAPES } from "./typedShapes.ts";

/** How a catalog is checked. */
export interface CheckOptions {
  /** Default "parsed". */
  objects?: ObjectDepth;
}

/** All that was found. */
export interface CheckResult {
  errors: number;
  warnings: number;
  /** In the order of opm's checks, errors first; at most 1,000 of each severity. */
  findings: Finding[];
}

/** How many objects of each kind a catalog has. */
export interface CatalogCounts {
  packages: number;
  channels: number;
  bundles: number;
  deprecations: number;
  others: number;
}

const KINDS: ReadonlyMap<string, { counted: keyof CatalogCounts; parse: "package" | "channel" | "bundle" | "deprecation" }> = new Map([
  [Schema.package, { counted: "packages", parse: "package" }],
  [Schema.channel, { counted: "channels", parse: "channel" }],
  [Schema.bundle, { counted: "bundles", parse: "bundle" }],
  [Schema.deprecations, { counted: "deprecations", parse: "deprecation" }],
]);

/**
 * Checks a catalog object by object as it is read, and at the end as a whole. It keeps names and versions, no content, and takes time in
 * proportion to the catalog.
 * @see operator-registry alpha/declcfg/load.go, declcfg_to_model.go, alpha/model/model.go
 */
export class CatalogCheck {
  readonly counts: CatalogCounts = { packages: 0, channels: 0, bundles: 0, deprecations: 0, others: 0 };
  readonly #objects: ObjectDepth;
  readonly #log = new FindingLog();
  readonly #names = new NameTable();
  readonly #rules = new ContentRules(this.#log);
  readonly #facts: ModelFacts = { packages: [], channels: [], bundles: [], deprecations: [] };

  constructor({ objects = "parsed" }: CheckOptions = {}) {
    this.#objects = objects;
  }

  /** Takes the next object; its content is not kept. */
  add(meta: PlacedMeta): void {
    const subject: Subject = {
      schema: this.#names.keep(meta.schema),
      package: this.#names.keep(meta.package),
      name: this.#names.keep(meta.name),
      place: meta.place,
    };
    this.#rules.check(meta, subject);
    const kind = KINDS.get(meta.schema);
    this.counts[kind?.counted ?? "others"]++;
    if (kind) this.#checkTyped(meta, subject, kind.parse);
    else if (meta.schema.startsWith("olm."))
      this.#log.add("reserved-schema", subject, `schema ${quoted(meta.schema)} is not one of OLM's`, {
        hint: "schemas that begin with olm. are reserved",
      });
  }

  /** Takes a document that holds nothing. */
  addEmpty(place: ContentPlace): void {
    const subject = { schema: "", package: "", name: "", place };
    this.#log.add("empty-document", subject, "object '' is missing root schema field", { hint: "the document holds nothing" });
  }

  /** The first finding for which the catalog cannot be served, so far. */
  get refusal(): Finding | undefined {
    return this.#log.refusal;
  }

  /** After the last object. */
  end(): CheckResult {
    checkModel(this.#facts, this.#log);
    return this.findings;
  }

  /** What was found in the objects themselves so far. */
  get findings(): CheckResult {
    const { error: errors, warning: warnings } = this.#log.counts;
    return { errors, warnings, findings: this.#log.findings };
  }

  #checkTyped(meta: PlacedMeta, subject: Subject, kind: "package" | "channel" | "bundle" | "deprecation"): void {
    const shape = SCHEMA_SHAPES.get(meta.schema);
    const faults = shape === undefined ? [] : shapeFaults(meta.blob, shape);
    const named = quoted(subject.name || subject.package);
    for (const fault of faults) this.#log.add(`parse-${kind}`, subject, `parse ${kind}: ${named}: ${fault}`);
    const log = this.#log;
    const names = this.#names;
    if (kind === "package") this.#facts.packages.push(checkPackage(meta, subject, log, names));
    else if (kind === "channel") this.#facts.channels.push(checkChannel(meta, subject, log, names));
    else if (kind === "bundle") this.#facts.bundles.push(checkBundle(meta, subject, log, this.#objects));
    else this.#facts.deprecations.push(checkDeprecations(meta, subject, log, names));
  }
}
