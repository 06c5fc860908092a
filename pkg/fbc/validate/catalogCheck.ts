import { findMember, isObject } from "../../golang/members.ts";
import { MAX_QUOTED, quoteExcerpt } from "../boundedTexts.ts";
import { Schema } from "../content.ts";
import { NameTable } from "../intern.ts";
import { LIFECYCLE_SCHEMA, readLifecycle } from "../lifecycleDocument.ts";
import { type ContentPlace, formatContentPlace, type Meta, type PlacedMeta } from "../types.ts";
import { describeKind, formatWrongKind } from "../wrongKind.ts";
import { checkBundleMeta, type ObjectDepth } from "./bundleCheck.ts";
import { checkChannel } from "./channelCheck.ts";
import { type Finding, FindingLog, type FindingSubject } from "./finding.ts";
import { checkModel, type ModelOutline } from "./modelCheck.ts";
import { checkDeprecations, checkPackage } from "./packageCheck.ts";
import { findShapeFaults, SCHEMA_SHAPES } from "./shape.ts";

/**
 * The rules that a catalog must satisfy to be served: all objects have the common form, and packages and bundles are unique.
 * @see https://olm.operatorframework.io/docs/reference/file-based-catalogs/ "Schema"
 */
class ContentRules {
  readonly #log: FindingLog;
  /** Locations of packages, and of bundles by package. */
  readonly #packages = new Map<string, ContentPlace>();
  readonly #bundles = new Map<string, Map<string, ContentPlace>>();

  constructor(log: FindingLog) {
    this.#log = log;
  }

  /** Checks a meta. @param subject the meta without its content; stored in findings. */
  check(meta: Meta, subject: FindingSubject): void {
    const { schema, name, blob } = meta;
    if (schema === "") this.#log.add("schema-missing", subject, `object '${name.slice(0, MAX_QUOTED)}' is missing root schema field`);
    if (meta.package === "" && findMember(blob, "package") !== undefined)
      this.#log.add("package-empty", subject, "package must not be empty", { hint: "omit the field instead" });
    this.#checkProperties(meta, subject);
    this.#checkUnique(subject);
  }

  #checkProperties({ blob }: Meta, subject: FindingSubject): void {
    const properties = findMember(blob, "properties");
    if (properties === undefined || properties === null) return;
    if (!Array.isArray(properties)) {
      this.#log.add("properties-not-a-list", subject, `properties: ${formatWrongKind(properties, "a list")}`);
      return;
    }
    for (const [i, property] of (properties as unknown[]).entries()) {
      if (isObject(property)) this.#checkProperty(findMember(property, "type"), findMember(property, "value"), i, subject);
      else this.#log.add("properties-not-a-list", subject, `properties[${i}]: ${formatWrongKind(property, "an object")}`);
    }
  }

  #checkProperty(type: unknown, value: unknown, i: number, subject: FindingSubject): void {
    if (typeof type !== "string" || type === "") {
      const hint = type === undefined || type === "" ? undefined : formatWrongKind(type, "a string");
      this.#log.add("property-type-missing", subject, `invalid property[${i}]: type must be set`, hint === undefined ? {} : { hint });
    }
    if (value !== undefined && value !== null) return;
    const typeText = quoteExcerpt(typeof type === "string" ? type : "");
    if (subject.schema === Schema.bundle && value === undefined) {
      const message = `parse properties for bundle ${quoteExcerpt(subject.name)}: parse property[${i}] of type ${typeText}: unexpected end of JSON input`;
      this.#log.add("property-value-missing", subject, message, { hint: "value must be set" });
    } else {
      const hint = value === null ? `found ${describeKind(value)}` : undefined;
      const message = `invalid property[${i}] of type ${typeText}: value must be set`;
      this.#log.add("property-value-missing", subject, message, hint === undefined ? {} : { hint });
    }
  }

  #checkUnique(subject: FindingSubject): void {
    const { schema, package: packageName, name, place } = subject;
    if (schema === Schema.package && name !== "") {
      const first = this.#packages.get(name);
      if (first) this.#log.add("duplicate-package", subject, `duplicate package ${quoteExcerpt(name)}`, firstAt(first));
      else this.#packages.set(name, place);
    } else if (schema === Schema.bundle && packageName !== "") {
      const bundles = this.#bundles.get(packageName) ?? new Map<string, ContentPlace>();
      const first = bundles.get(name);
      const message = `package ${quoteExcerpt(packageName)} has duplicate bundle ${quoteExcerpt(name)}`;
      if (first) this.#log.add("duplicate-bundle", subject, message, firstAt(first));
      else this.#bundles.set(packageName, bundles.set(name, place));
    }
  }
}

function firstAt(place: ContentPlace): { hint: string } {
  return { hint: `first defined in ${formatContentPlace(place)}` };
}

/** Options for checking a catalog. */
export interface CheckOptions {
  /** Default: "parsed". */
  objects?: ObjectDepth;
}

/** The result of a check. */
export interface CheckResult {
  errors: number;
  warnings: number;
  /** Errors first, then in the order of the opm checks. At most 1,000 of each severity. */
  findings: Finding[];
}

/** Numbers of objects in a catalog by kind. */
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
 * Checks the objects of a catalog while it is read, and then the whole catalog. Keeps only names and versions. Takes linear time.
 * @see operator-registry v1.73.0 alpha/declcfg/load.go, declcfg_to_model.go, alpha/model/model.go
 */
export class CatalogCheck {
  readonly counts: CatalogCounts = { packages: 0, channels: 0, bundles: 0, deprecations: 0, others: 0 };
  readonly #objects: ObjectDepth;
  readonly #log = new FindingLog();
  readonly #names = new NameTable();
  readonly #rules = new ContentRules(this.#log);
  /** Locations of support phases by package. */
  readonly #lifecycles = new Map<string, ContentPlace>();
  readonly #facts: ModelOutline = { packages: [], channels: [], bundles: [], deprecations: [] };

  constructor({ objects = "parsed" }: CheckOptions = {}) {
    this.#objects = objects;
  }

  /** Adds an object. Does not keep its content. */
  add(meta: PlacedMeta): void {
    const subject: FindingSubject = {
      schema: this.#names.keep(meta.schema),
      package: this.#names.keep(meta.package),
      name: this.#names.keep(meta.name),
      place: meta.place,
    };
    this.#rules.check(meta, subject);
    const kind = KINDS.get(meta.schema);
    this.counts[kind?.counted ?? "others"]++;
    if (kind) this.#checkTyped(meta, subject, kind.parse);
    else if (meta.schema === LIFECYCLE_SCHEMA) this.#checkLifecycle(meta, subject);
    else if (meta.schema.startsWith("olm."))
      this.#log.add("reserved-schema", subject, `schema ${quoteExcerpt(meta.schema)} is not defined by OLM`, {
        hint: "the prefix olm. is reserved",
      });
  }

  /** Adds an empty document. */
  addEmpty(place: ContentPlace): void {
    const subject = { schema: "", package: "", name: "", place };
    this.#log.add("empty-document", subject, "object '' is missing root schema field", { hint: "the document is empty" });
  }

  /** The first finding so far that prevents serving the catalog. */
  get refusal(): Finding | undefined {
    return this.#log.refusal;
  }

  /** Checks the whole catalog after the last object. */
  end(): CheckResult {
    checkModel(this.#facts, this.#log);
    return this.findings;
  }

  /** The findings so far. */
  get findings(): CheckResult {
    const { error: errors, warning: warnings } = this.#log.counts;
    return { errors, warnings, findings: this.#log.findings };
  }

  #checkLifecycle({ blob }: PlacedMeta, subject: FindingSubject): void {
    for (const fault of readLifecycle(blob).faults) this.#log.add("lifecycle-invalid", subject, fault);
    const first = this.#lifecycles.get(subject.package);
    const message = `package ${quoteExcerpt(subject.package)} has several objects with support phases`;
    if (first) this.#log.add("duplicate-lifecycle", subject, message, firstAt(first));
    else this.#lifecycles.set(subject.package, subject.place);
  }

  #checkTyped(meta: PlacedMeta, subject: FindingSubject, kind: "package" | "channel" | "bundle" | "deprecation"): void {
    const shape = SCHEMA_SHAPES.get(meta.schema);
    const faults = shape === undefined ? [] : findShapeFaults(meta.blob, shape);
    const named = quoteExcerpt(subject.name || subject.package);
    for (const fault of faults) this.#log.add(`parse-${kind}`, subject, `parse ${kind}: ${named}: ${fault}`);
    const log = this.#log;
    const names = this.#names;
    if (kind === "package") this.#facts.packages.push(checkPackage(meta, subject, log, names));
    else if (kind === "channel") this.#facts.channels.push(checkChannel(meta, subject, log, names));
    else if (kind === "bundle") this.#facts.bundles.push(checkBundleMeta(meta, subject, log, this.#objects));
    else this.#facts.deprecations.push(checkDeprecations(meta, subject, log, names));
  }
}
