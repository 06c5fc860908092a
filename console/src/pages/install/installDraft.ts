import { keepPreviousData, type UseQueryResult, useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { InstallDraft, type InstallForm } from "../../../../pkg/consoleapi/install.ts";
import { postJson } from "../../api/request.ts";
import type { FieldSchema } from "../../components/schemaForm/schema.ts";

/** Time after the last change before the server computes the manifest, in milliseconds. */
const PAUSE_MS = 400;

/** What the form results in, and the schema of the configuration. */
export interface ComputedDraft {
  /** The earlier result stays until a new one is computed. */
  readonly query: UseQueryResult<InstallDraft>;
  /** Whether the result is that of an earlier form. */
  readonly isStale: boolean;
  readonly schema: FieldSchema | undefined;
}

/** Returns what the form results in, soon after the last change. */
export function useInstallDraft(name: string, form: InstallForm): ComputedDraft {
  const [settled, setSettled] = useState(form);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(form), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [form]);
  const known = useRef<{ readonly bundle: string; readonly schema: FieldSchema }>(undefined);
  const [schema, setSchema] = useState<FieldSchema>();
  const query = useQuery({
    queryKey: ["install", name, settled],
    queryFn: async ({ signal }) => {
      const body = { ...settled, knownBundle: known.current?.bundle };
      const draft = await postJson(`/api/packages/${encodeURIComponent(name)}/install`, body, InstallDraft, signal);
      // The schema of a bundle is sent once.
      if (draft.schema && draft.bundle) known.current = { bundle: draft.bundle.name, schema: draft.schema };
      if (draft.bundle) setSchema(known.current?.schema);
      return draft;
    },
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  });
  return { query, isStale: query.isPlaceholderData || settled !== form, schema };
}
