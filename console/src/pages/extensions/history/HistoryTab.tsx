import "./history.css";
import { Alert, Title } from "@patternfly/react-core";
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { ExtensionHistory } from "../../../../../pkg/consoleapi/history.ts";
import { getJson } from "../../../api/request.ts";
import { QueryView } from "../../../components/QueryView.tsx";
import { TabSection } from "../../../components/TabSection.tsx";
import { historyText as t } from "../../../text/history.ts";
import { useExtensionName } from "../extensionName.ts";
import { DriftView } from "./DriftView.tsx";
import { ReleaseList } from "./ReleaseList.tsx";

/** The revisions of the extension with their causes, and the drift of its objects. */
export default function HistoryTab(): ReactElement {
  const name = useExtensionName();
  const query = useQuery({
    queryKey: ["extension", name, "history"],
    queryFn: ({ signal }) => getJson(`/api/extensions/${encodeURIComponent(name)}/history`, ExtensionHistory, signal),
  });
  return (
    <div>
      <Title headingLevel="h2">{t.title}</Title>
      <QueryView query={query}>
        {({ releases, drift }) => {
          const parts = [
            <TabSection key="releases" title={t.releases}>
              {"error" in releases ? <PartError error={releases.error} /> : <ReleaseList name={name} releases={releases} />}
            </TabSection>,
            <TabSection key="drift" title={t.drift}>
              {"error" in drift ? <PartError error={drift.error} /> : "note" in drift ? <p>{drift.note}</p> : <DriftView drift={drift} />}
            </TabSection>,
          ];
          return "objects" in drift && drift.objects.length > 0 ? parts.reverse() : parts; // what needs a decision first
        }}
      </QueryView>
    </div>
  );
}

function PartError({ error }: { readonly error: string }): ReactElement {
  return (
    <Alert isInline variant="warning" component="h4" title={t.error}>
      <p className="olm-break">{error}</p>
    </Alert>
  );
}
