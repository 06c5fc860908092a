import { RuleCompiler, UndeclaredReference } from "../../cel/evaluator.ts";
import { createKubernetesFunctions } from "../../cel/kubernetesFunctions.ts";
import { parseRule } from "../../cel/ruleText.ts";
import { Failure, type Result, UnsupportedFailure, type Value } from "../../cel/values.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { isObject } from "../../golang/members.ts";
import { truncateExcerpt } from "../../text/truncate.ts";
import { hasValidationRules, listRules } from "../existingObjects.ts";
import type { Spend } from "../objectFaults.ts";
import type { RawObject } from "../schema.ts";
import { addDefaults, convertBySchema } from "./schemaValues.ts";

/** Maximum length of a rule; rules of real CRDs have up to two thousand characters. */
const MAX_RULE = 8_192;
const MAX_RULES = 2_000;
/** Steps of compiling one character of a rule. */
const PARSE_STEPS = 20;
const MAX_SHOWN = 100;
const MAX_PATH = 200;
/** Maximum number of faults of one object, and of rules with a reason why they were not evaluated. */
const MAX_FAULTS = 100;

/** A rule that was compiled, and what to report if it does not hold. */
interface CompiledRule {
  readonly text: string;
  readonly message: string;
  readonly evaluate: (self: Value) => Result;
}

/**
 * The CEL rules (`x-kubernetes-validations`) of a schema. Schema and objects are untrusted: each step of compilation and evaluation is charged.
 * Differences from the API server: cost budgets of CEL do not apply, and transition rules are skipped.
 */
export class SchemaRules {
  readonly #schema: unknown;
  readonly #spend: Spend;
  readonly #compiler: RuleCompiler;
  /** The rules of each node of the schema. */
  readonly #rules = new Map<RawObject, readonly CompiledRule[]>();
  /** The nodes that contain rules. */
  readonly #containing = new Set<unknown>();
  readonly #unchecked = new Map<string, string>();
  #count = 0;
  /** The error of `spend`, which ends the check. */
  #end: unknown;

  /**
   * @param schema not larger than `findSizeFault` allows
   * @throws the error of `spend`
   */
  constructor(schema: unknown, spend: Spend) {
    this.#schema = schema;
    this.#spend = (steps) => {
      try {
        spend(steps);
      } catch (err) {
        this.#end = err;
        throw err;
      }
    };
    this.#compiler = new RuleCompiler({ spend: this.#spend }, createKubernetesFunctions(), ["self"]);
    this.#compileNode(schema);
  }

  /** The rules that were not evaluated, or not for all objects, each with the reason. */
  get unchecked(): string[] {
    return [...this.#unchecked].map(([rule, reason]) => `${rule}: ${reason}`);
  }

  /**
   * Returns the rules that an object does not satisfy, each with its path and message. The object must be valid otherwise.
   * @throws the error of `spend`
   */
  findFaults(object: unknown): string[] {
    if (!this.#containing.has(this.#schema)) return [];
    const faults: string[] = [];
    this.#check(this.#schema, addDefaults(this.#schema, object, this.#spend), "", true, faults);
    return faults;
  }

  /** @returns whether the node contains rules */
  #compileNode(schema: unknown): boolean {
    if (!isObject(schema)) return false;
    const { allOf, items, properties, additionalProperties } = schema;
    const rules = listRules(schema).flatMap((rule) => this.#compileRule(rule));
    this.#rules.set(schema, rules);
    for (const one of Array.isArray(allOf) ? allOf : [])
      if (hasValidationRules(one)) this.#addUnchecked("the rules in allOf", "rules in alternatives are not supported");
    const children = [items, additionalProperties, ...(isObject(properties) ? Object.values(properties) : [])];
    const containing = children.filter((child) => this.#compileNode(child));
    if (rules.length === 0 && containing.length === 0) return false;
    this.#containing.add(schema);
    return true;
  }

  #compileRule({ rule, message, optionalOldSelf }: RawObject): CompiledRule[] {
    const text = typeof rule === "string" ? rule : "";
    try {
      if (++this.#count > MAX_RULES) throw new Error(`the schema has more than ${MAX_RULES} rules`);
      if (text.length > MAX_RULE) throw new Error(`the rule is longer than ${MAX_RULE} characters`);
      this.#spend(text.length * PARSE_STEPS);
      const evaluate = this.#compiler.compile(parseRule(text).expr);
      const shown = typeof message === "string" && message !== "" ? message : `failed rule: ${text}`;
      return [{ text, message: truncateExcerpt(shown, { length: MAX_PATH }), evaluate }];
    } catch (err) {
      if (err === this.#end) throw err;
      // A transition rule compares an object with its previous version. An upgrade changes no object, and the API server does not apply the rule to
      // unchanged values: it skips the rule when an object is created, and an update that leaves a value unchanged does not fail ("ratcheting").
      if (err instanceof UndeclaredReference && err.reference === "oldSelf" && optionalOldSelf !== true) return [];
      this.#addUnchecked(text, getErrorMessage(err));
      return [];
    }
  }

  #check(schema: unknown, value: unknown, path: string, isResource: boolean, faults: string[]): void {
    if (!isObject(schema) || !this.#containing.has(schema) || value === null || value === undefined) return;
    const rules = this.#rules.get(schema) ?? [];
    for (const rule of rules) this.#evaluate(rule, schema, value, path, isResource, faults);
    const { items, properties, additionalProperties } = schema;
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) this.#check(items, item, `${path}[${index}]`, isEmbedded(items), faults);
      return;
    }
    if (!isObject(value)) return;
    for (const [name, member] of Object.entries(value)) {
      const property = isObject(properties) && Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
      this.#check(property, member, path === "" ? name : `${path}.${name}`, isEmbedded(property), faults);
    }
  }

  #evaluate(rule: CompiledRule, schema: RawObject, value: unknown, path: string, isResource: boolean, faults: string[]): void {
    let result: Result;
    try {
      result = rule.evaluate(convertBySchema(schema, value, isResource, this.#spend));
    } catch (err) {
      if (err === this.#end) throw err;
      this.#addUnchecked(rule.text, getErrorMessage(err));
      return;
    }
    if (result === true) return;
    if (result instanceof UnsupportedFailure || (result !== false && !(result instanceof Failure))) {
      this.#addUnchecked(rule.text, result instanceof Failure ? result.message : "the result is not a bool");
      return;
    }
    if (faults.length >= MAX_FAULTS) return;
    const text = result instanceof Failure ? `${rule.message} (${result.message})` : rule.message;
    const shown = truncateExcerpt(path, { length: MAX_PATH });
    faults.push(shown === "" ? text : `${shown}: ${text}`);
  }

  #addUnchecked(rule: string, reason: string): void {
    const shown = truncateExcerpt(rule, { length: MAX_SHOWN });
    if (this.#unchecked.size < MAX_FAULTS && !this.#unchecked.has(shown))
      this.#unchecked.set(shown, truncateExcerpt(reason, { length: MAX_PATH }));
  }
}

function isEmbedded(schema: unknown): boolean {
  return isObject(schema) && schema["x-kubernetes-embedded-resource"] === true;
}
