import { useCallback, useMemo } from "react";
import { useSearchParams } from "react-router";
import type { LimitAttempt, SourceLimits, Why, WhyChannel } from "../../../../../pkg/consoleapi/why.ts";

const LIMITS = ["range", "channels", "policy"] as const;

/** The part of the address that determines what the tab shows. */
export interface WhyParams {
  /** The limits to try, as a query of the API; empty for the current limits. */
  readonly tried: string;
  readonly channel: string | undefined;
  readonly catalog: string | undefined;
  readonly bundle: string | undefined;
  readonly view: "graph" | "list" | undefined;
  readonly hasAllEdges: boolean;
  readonly select: (node: { readonly catalog: string; readonly bundle: string }) => void;
  /** Selects a version in a channel. */
  readonly show: (node: { readonly catalog: string; readonly bundle: string }, channel: Pick<WhyChannel, "name">) => void;
  readonly showChannel: (channel: Pick<WhyChannel, "catalog" | "name">) => void;
  readonly setView: (view: "graph" | "list") => void;
  readonly setAllEdges: (isOn: boolean) => void;
  /** @param node the version to select */
  readonly tryLimits: (limits: SourceLimits, node?: { readonly catalog: string; readonly bundle: string }) => void;
  readonly reset: () => void;
}

/** Returns the state of the tab, which is in the address. */
export function useWhyParams(): WhyParams {
  const [params, setParams] = useSearchParams();
  const update = useCallback(
    (values: Readonly<Record<string, string | undefined>>, options?: { readonly replace?: boolean }): void =>
      setParams((before) => {
        const after = new URLSearchParams(before);
        for (const [key, value] of Object.entries(values)) {
          if (value === undefined) after.delete(key);
          else after.set(key, value);
        }
        return after;
      }, options),
    [setParams],
  );
  return useMemo(() => {
    const view = params.get("view");
    return {
      tried: readTried(params),
      channel: params.get("channel") ?? undefined,
      catalog: params.get("catalog") ?? undefined,
      bundle: params.get("bundle") ?? undefined,
      view: view === "graph" || view === "list" ? view : undefined,
      hasAllEdges: params.get("edges") === "all",
      select: ({ catalog, bundle }) => update({ catalog, bundle }, { replace: true }),
      show: ({ catalog, bundle }, { name }) => update({ catalog, bundle, channel: name }, { replace: true }),
      showChannel: ({ catalog, name }) => update({ catalog, channel: name, bundle: undefined }, { replace: true }),
      setView: (chosen) => update({ view: chosen }, { replace: true }),
      setAllEdges: (isOn) => update({ edges: isOn ? "all" : undefined }, { replace: true }),
      tryLimits: ({ range, channels, policy }, node) =>
        update({ range, channels: channels.join(","), policy, ...(node ? { catalog: node.catalog, bundle: node.bundle } : {}) }),
      reset: () => update(Object.fromEntries(LIMITS.map((key) => [key, undefined]))),
    };
  }, [params, update]);
}

function readTried(params: URLSearchParams): string {
  const tried = new URLSearchParams();
  for (const key of LIMITS) {
    const value = params.get(key);
    if (value !== null) tried.set(key, value);
  }
  return tried.toString();
}

/** Returns the channel that the tab shows. */
export function findShownChannel({ channels, firstChannel }: Why, { channel, catalog }: WhyParams): WhyChannel | undefined {
  if (channel === undefined) return channels[firstChannel];
  const named = channels.filter(({ name }) => name === channel);
  return named.find((one) => one.catalog === catalog) ?? named[0] ?? channels[firstChannel];
}

/** Returns the limits with those of an attempt. */
export function mergeLimits(limits: SourceLimits, { range, channels, policy }: LimitAttempt): SourceLimits {
  return { range: range ?? limits.range, channels: channels ?? limits.channels, policy: policy ?? limits.policy };
}
