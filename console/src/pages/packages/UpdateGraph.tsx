import { ExpandableSection } from "@patternfly/react-core";
import { useQuery } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { QueryView } from "../../components/QueryView.tsx";
import { packagesText } from "../../text/packages.ts";
import { useCatalogData } from "./catalogData.tsx";

/** A drawing of the upgrade graph, which is loaded when it is opened. */
export function UpdateGraph({ catalog, name }: { readonly catalog: string; readonly name: string }): ReactElement {
  const [isExpanded, setExpanded] = useState(false);
  return (
    <ExpandableSection toggleText={packagesText.graphShow} isExpanded={isExpanded} onToggle={(_event, is) => setExpanded(is)}>
      {isExpanded && <Drawing catalog={catalog} name={name} />}
    </ExpandableSection>
  );
}

function Drawing({ catalog, name }: { readonly catalog: string; readonly name: string }): ReactElement {
  const data = useCatalogData();
  const query = useQuery({
    queryKey: ["catalogs", "package-graph", catalog, name],
    queryFn: ({ signal }) => data.readGraph(catalog, name, signal),
  });
  return (
    <QueryView query={query} lines={6}>
      {(address) => (
        // A region that scrolls must be reachable with the keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <div className="olm-scroll olm-drawing" role="region" aria-label={packagesText.graph} tabIndex={0}>
          <img src={address} alt={packagesText.graphAlt(name)} />
        </div>
      )}
    </QueryView>
  );
}
