import "../../../components/filters.css";
import "./objects.css";
import { Checkbox, Title } from "@patternfly/react-core";
import { useQuery } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { useNavigate, useSearchParams } from "react-router";
import { ObjectTree, type ObjectTreeNode } from "../../../../../pkg/consoleapi/objects.ts";
import { getJson } from "../../../api/request.ts";
import { useLive } from "../../../app/consoleState.tsx";
import { QueryView } from "../../../components/QueryView.tsx";
import { SearchField } from "../../../components/SearchField.tsx";
import { objectsText as t } from "../../../text/objects.ts";
import { useExtensionName } from "../extensionName.ts";
import { ObjectPanel } from "./ObjectPanel.tsx";
import { ObjectTreeView } from "./ObjectTreeView.tsx";
import { formatReference, parseReference } from "./objectLink.ts";
import { filterTree } from "./treeRows.ts";

/** Interval of updates in milliseconds: the states of Pods change without a change of the extension. */
const REFRESH_MS = 10_000;

/** The objects of an extension as a tree, and the selected object. */
export default function ObjectsTab(): ReactElement {
  const name = useExtensionName();
  const query = useQuery({
    queryKey: ["extension", name, "objects"],
    queryFn: ({ signal }) => getJson(`/api/extensions/${encodeURIComponent(name)}/objects`, ObjectTree, signal),
    refetchInterval: REFRESH_MS,
  });
  const [params] = useSearchParams();
  const selected = parseReference(params.get("object"));
  return (
    <div className={selected ? "olm-objects olm-objects-open" : "olm-objects"}>
      <div className="olm-objects-tree">
        <Title headingLevel="h2" className="pf-v6-screen-reader">
          {t.title}
        </Title>
        <QueryView query={query}>{(tree) => <Tree name={name} tree={tree} />}</QueryView>
      </div>
      {selected && <ObjectPanel key={formatReference(selected)} reference={selected} />}
    </div>
  );
}

function Tree({ name, tree: { root, failing } }: { readonly name: string; readonly tree: ObjectTree }): ReactElement {
  const [params, setParams] = useSearchParams();
  const navigate = useNavigate();
  const [text, setText] = useState("");
  const [isOnlyFailing, setOnlyFailing] = useState(false);
  const isFiltered = text.trim() !== "" || isOnlyFailing;
  const shown = filterTree(root, text, isOnlyFailing);
  const select = ({ object, extension }: ObjectTreeNode): void => {
    if (object) setParams(selectObject(params, formatReference(object)), { replace: params.has("object") });
    else if (extension !== undefined && extension !== name) void navigate(`/extensions/${extension}/objects`);
  };
  return (
    <>
      <div className="olm-filters">
        <SearchField label={t.search} value={text} onChange={setText} isOfPage />
        <Checkbox
          id="only-failing"
          label={t.onlyFailing}
          isChecked={isOnlyFailing}
          onChange={(_event, isChecked) => setOnlyFailing(isChecked)}
        />
        <output className="olm-subtle">{t.failing(failing)}</output>
      </div>
      {shown ? (
        <ObjectTreeView
          key={String(isFiltered)}
          label={t.tree(name)}
          root={shown}
          isFiltered={isFiltered}
          selected={params.get("object") ?? undefined}
          onSelect={select}
        />
      ) : (
        <p className="olm-subtle">{t.noMatch}</p>
      )}
      {root.children.length === 0 && <NoObjects name={name} />}
    </>
  );
}

function NoObjects({ name }: { readonly name: string }): ReactElement {
  const isInstalled = useLive().extensions.get(name)?.bundle !== undefined;
  return <p className="olm-subtle">{isInstalled ? t.unknown : t.none}</p>;
}

/** Selects another object; keeps the view, except that of the log, which only Pods have. */
function selectObject(params: URLSearchParams, object: string): URLSearchParams {
  const next = new URLSearchParams(params);
  next.set("object", object);
  next.delete("container");
  next.delete("previous");
  if (next.get("view") === "log" && !object.startsWith("v1 Pod ")) next.delete("view");
  return next;
}
