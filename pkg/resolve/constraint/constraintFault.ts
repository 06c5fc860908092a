import { goQuote } from "../../golang/quote.ts";
import { excerpt } from "../../fbc/boundedTexts.ts";

/** A constraint that a bundle declares and nobody can read. Only the author of the catalog can mend it. */
export interface ConstraintFault {
  /** Name of the bundle. */
  readonly bundle: string;
  /** Its place among the bundle's properties, from 0. */
  readonly property: number;
  /** The property's type, such as "olm.constraint". */
  readonly type: string;
  /** Where in the property's value, such as "all.constraints[1].package.versionRange"; empty for the value as a whole. */
  readonly path: string;
  readonly reason: string;
}

/** The fault as one sentence that says whose mistake it is; at most some 1,000 characters. */
export function faultText({ bundle, property, type, path, reason }: ConstraintFault): string {
  const where = `properties[${property}] of type ${goQuote(excerpt(type))}${path === "" ? "" : `, at ${excerpt(path)}`}`;
  return `bundle ${goQuote(excerpt(bundle))} declares a constraint that cannot be read, a mistake for the catalog's author to correct: ${where}: ${excerpt(reason)}`;
}
