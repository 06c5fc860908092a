import { goQuote } from "../../golang/quote.ts";
import { shortened } from "../../fbc/boundedTexts.ts";
import type { BundleConstraint, Gvk } from "./constraint.ts";

const MAX_TEXT = 200;
const MAX_NAME = 64;
const MAX_RULE = 120;
const COMPOUND = { all: "all of", any: "any of", not: "none of" } as const;

/**
 * What is asked for in a few words, such as `package "b" >=2.0.0`, `API g.example.com/v1 Kind`, `all of (…, …)`; at most 200 characters on
 * one line. Failure messages are no part of it.
 */
export function describe(constraint: BundleConstraint): string {
  return shortened(described(constraint, MAX_TEXT), MAX_TEXT);
}

/** The same, with work that ends soon after `room` characters. */
function described(constraint: BundleConstraint, room: number): string {
  if (constraint.kind === "gvk") return `API ${shownGvk(constraint.gvk)}`;
  if (constraint.kind === "cel") return `a bundle with ${goQuote(shortened(constraint.rule.replace(/\s+/g, " "), MAX_RULE))}`;
  if (constraint.kind === "package")
    return `package ${goQuote(shortened(constraint.packageName, MAX_NAME))} ${shownRange(constraint.range.text)}`;
  let text = "";
  for (const member of constraint.constraints) {
    if (text.length > room) break;
    text += `${text === "" ? "" : ", "}${described(member, room - text.length)}`;
  }
  return `${COMPOUND[constraint.kind]} (${text})`;
}

/** An API in words, such as `g.example.com/v1 Kind`. */
export function shownGvk({ group, version, kind }: Gvk): string {
  return `${shortened(group, MAX_NAME)}/${shortened(version, MAX_NAME)} ${shortened(kind, MAX_NAME)}`;
}

/** The range as it is written, in quotes only where it holds more than ranges need. */
function shownRange(text: string): string {
  const short = shortened(text.replace(/\s+/g, " "), MAX_NAME);
  return /^[-+.0-9A-Za-z<>=!| *\u2026]+$/.test(short) ? short : goQuote(short);
}
