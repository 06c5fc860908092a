import { Button, Title } from "@patternfly/react-core";
import { TimesIcon } from "@patternfly/react-icons";
import { useQuery } from "@tanstack/react-query";
import { lazy, type ReactElement, Suspense, useEffect, useRef } from "react";
import { useSearchParams } from "react-router";
import { ObjectView, type ShownObject } from "../../../../../pkg/consoleapi/objects.ts";
import { getJson } from "../../../api/request.ts";
import { Placeholder, QueryView } from "../../../components/QueryView.tsx";
import { StateLabel } from "../../../components/StateLabel.tsx";
import { TabLinks } from "../../../components/TabLinks.tsx";
import { objectsText as t } from "../../../text/objects.ts";
import { ObjectDetails } from "./ObjectDetails.tsx";
import { ObjectSource } from "./ObjectSource.tsx";
import { buildObjectQuery } from "./objectLink.ts";

const LogView = lazy(() => import("./log/LogView.tsx"));
const REFRESH_MS = 5_000;
/** Below this width, the panel replaces the tree. */
const NARROW = "(width < 62rem)";

type View = "details" | "yaml" | "log";

/** One object: its health and Events, its YAML, and the log of a Pod. */
export function ObjectPanel({ reference }: { readonly reference: ShownObject }): ReactElement {
  const [params, setParams] = useSearchParams();
  const view = parseView(params.get("view"), reference);
  const heading = useRef<HTMLHeadingElement>(null);
  const panel = useRef<HTMLElement>(null);
  const query = useQuery({
    queryKey: ["object", buildObjectQuery(reference)],
    queryFn: ({ signal }) => getJson(`/api/objects?${buildObjectQuery(reference)}`, ObjectView, signal),
    refetchInterval: REFRESH_MS,
  });
  useEffect(() => {
    if (matchMedia(NARROW).matches) heading.current?.focus();
    else panel.current?.scrollIntoView({ block: "nearest" });
  }, []);
  const close = (): void =>
    setParams(withParams(params, { object: undefined, view: undefined, container: undefined, previous: undefined }));
  useEffect(() => {
    const section = panel.current;
    const handleKey = (event: KeyboardEvent): void => {
      if (event.key === "Escape" && !event.defaultPrevented) close();
    };
    section?.addEventListener("keydown", handleKey);
    return () => section?.removeEventListener("keydown", handleKey);
  });
  const name = `${reference.kind} ${reference.name}`;
  return (
    <section className="olm-panel" aria-label={t.panel(name)} ref={panel}>
      <header className="olm-panel-head">
        <Title headingLevel="h2" size="lg" ref={heading} tabIndex={-1} className="olm-break">
          <span className="olm-subtle">{reference.kind}</span> <bdi>{reference.name}</bdi>
        </Title>
        {query.data && <StateLabel state={query.data.state} />}
        <Button variant="plain" className="olm-panel-close" aria-label={t.close} icon={<TimesIcon />} onClick={close} />
      </header>
      <TabLinks
        label={t.views.label}
        tabs={listViews(reference).map((one) => ({
          to: { search: withParams(params, { view: one === "details" ? undefined : one }).toString() },
          label: t.views[one],
          isCurrent: one === view,
        }))}
      />
      <div className="olm-panel-body">
        <QueryView query={query}>
          {(object) => {
            if (view === "yaml") return <ObjectSource object={object} />;
            if (view === "log") {
              return (
                <Suspense fallback={<Placeholder lines={6} />}>
                  <LogView reference={reference} containers={object.containers ?? []} />
                </Suspense>
              );
            }
            return <ObjectDetails object={object} />;
          }}
        </QueryView>
      </div>
    </section>
  );
}

function listViews({ apiVersion, kind }: ShownObject): readonly View[] {
  return apiVersion === "v1" && kind === "Pod" ? ["details", "yaml", "log"] : ["details", "yaml"];
}

function parseView(text: string | null, reference: ShownObject): View {
  return listViews(reference).find((view) => view === text) ?? "details";
}

/** Returns the parameters with other values; undefined removes a parameter. */
function withParams(params: URLSearchParams, changes: Readonly<Record<string, string | undefined>>): URLSearchParams {
  const next = new URLSearchParams(params);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) next.delete(name);
    else next.set(name, value);
  }
  return next;
}
