import * as z from "zod";
import { goBool } from "./flags.ts";

/** One feature gate of the reference implementation, and what it is here. */
export interface Gate {
  /** What `AllAlpha` and `AllBeta` mean by it. */
  readonly stage: "alpha" | "beta" | "GA";
  readonly byDefault: boolean;
  /** Why a value other than the default has no effect here; without it the gate can be set. */
  readonly fixed?: string;
}

/** What was asked for with --feature-gates. */
export interface FeatureGates<Name extends string> {
  /** Whether each is on. */
  readonly enabled: Readonly<Record<Name, boolean>>;
  /** What was asked for and is not so, each with why: "BoxcutterRuntime=true: …". */
  readonly ignored: readonly string[];
}

/** What sets all gates of a stage that are not set by themselves. */
const STAGES = new Map([
  ["AllAlpha", "alpha"],
  ["AllBeta", "beta"],
]);

/** The flag --feature-gates of a program with these gates: "Name=true,Other=false", as often as one likes. */
export function featureGatesFlag<Name extends string>(gates: Readonly<Record<Name, Gate>>) {
  const shown = Object.entries<Gate>(gates).map(([name, gate]) => `${name}=${gate.byDefault}`);
  return z
    .string()
    .default("")
    .transform((text, context): FeatureGates<Name> => {
      const asked = pairsOf(text, gates);
      if (typeof asked === "string") {
        context.addIssue({ code: "custom", message: asked });
        return z.NEVER;
      }
      return settled(asked, gates);
    })
    .meta({ description: `features to switch on or off, such as Name=false,Other=true; they are ${shown.join(", ")}`, isList: true });
}

/** The gates by name, or what is wrong, as k8s.io/component-base words it. */
function pairsOf(text: string, gates: Readonly<Record<string, Gate>>): Map<string, boolean> | string {
  const asked = new Map<string, boolean>();
  for (const pair of text.split(",").map((part) => part.trim())) {
    if (pair === "") continue;
    const at = pair.indexOf("=");
    const name = (at < 0 ? pair : pair.slice(0, at)).trim();
    if (at < 0) return `missing bool value for ${name}`;
    const value = pair.slice(at + 1).trim();
    const on = goBool(value);
    if (on === undefined)
      return `invalid value of ${name}=${value}, err: strconv.ParseBool: parsing ${JSON.stringify(value)}: invalid syntax`;
    if (!Object.hasOwn(gates, name) && !STAGES.has(name))
      return `unrecognized feature gate: ${name}; known are ${Object.keys(gates).join(", ")}`;
    asked.set(name, on);
  }
  return asked;
}

function settled<Name extends string>(asked: ReadonlyMap<string, boolean>, gates: Readonly<Record<Name, Gate>>): FeatureGates<Name> {
  const ignored: string[] = [];
  const stages = new Map([...STAGES].map(([name, stage]) => [stage, asked.get(name)]));
  const enabled = Object.entries<Gate>(gates).map(([name, { stage, byDefault, fixed }]) => {
    const own = asked.get(name);
    const wanted = own ?? stages.get(stage) ?? byDefault;
    if (fixed === undefined || wanted === byDefault) return [name, wanted];
    if (own !== undefined) ignored.push(`${name}=${wanted}: ${fixed}`);
    return [name, byDefault];
  });
  return { enabled: Object.fromEntries(enabled) as Record<Name, boolean>, ignored };
}
