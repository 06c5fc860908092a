import { InvalidArgumentError } from "commander";
import { ValuesSource } from "../../../pkg/api/extensionConfig.ts";

/** An object that configuration is read from. */
export type SourceName = Pick<ValuesSource, "kind" | "name">;

/**
 * Reads one more value of an option such as `Secret/NAME`.
 * @param before the values before it.
 * @throws InvalidArgumentError for what is no ConfigMap or Secret with a name that it can have.
 */
export function sourceName(text: string, before: readonly SourceName[] = []): SourceName[] {
  const slash = text.indexOf("/");
  const { success, data } = ValuesSource.safeParse({ kind: text.slice(0, Math.max(slash, 0)), name: text.slice(slash + 1) });
  if (!success) throw new InvalidArgumentError("It must be ConfigMap/NAME or Secret/NAME.");
  return [...before, { kind: data.kind, name: data.name }];
}
