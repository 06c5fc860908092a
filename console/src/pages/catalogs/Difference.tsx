import { Button } from "@patternfly/react-core";
import { useQuery } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { EditionDifference } from "../../../../pkg/consoleapi/catalogs.ts";
import { getJson } from "../../api/request.ts";
import { CommandLine } from "../../components/CommandLine.tsx";
import { Label } from "../../components/Label.tsx";
import { QueryView } from "../../components/QueryView.tsx";
import { catalogsText as t } from "../../text/catalogs.ts";

/** The difference between the served content of a catalog and the content before, which is computed on request. */
export function Difference({ name, served }: { readonly name: string; readonly served: string }): ReactElement {
  const [isRequested, setRequested] = useState(false);
  if (!isRequested) {
    return (
      <div>
        <Button variant="secondary" onClick={() => setRequested(true)}>
          {t.compare}
        </Button>
      </div>
    );
  }
  return <Compared name={name} served={served} />;
}

function Compared({ name, served }: { readonly name: string; readonly served: string }): ReactElement {
  const query = useQuery({
    queryKey: ["catalog", name, "difference", served],
    queryFn: ({ signal }) => getJson(`/api/catalogs/${encodeURIComponent(name)}/difference`, EditionDifference, signal),
  });
  return (
    <QueryView query={query} lines={4}>
      {(difference) => <Result difference={difference} served={served} />}
    </QueryView>
  );
}

function Result({
  difference: { before, differences, omitted },
  served,
}: {
  readonly difference: EditionDifference;
  readonly served: string;
}): ReactElement {
  if (before === undefined) {
    return (
      <>
        <p className="olm-subtle">{t.differenceUnknown}</p>
        <CommandLine command={t.differenceCommand(served)} label={t.difference} />
      </>
    );
  }
  const breaking = differences.filter(({ isBreaking }) => isBreaking).length;
  return (
    <>
      <p className="olm-break olm-subtle">
        {t.differenceBefore}: <code>{before}</code>
      </p>
      <p>{differences.length === 0 ? t.differenceNone : t.differenceCount(differences.length + omitted, breaking)}</p>
      <ul className="olm-list">
        {differences.map(({ change, package: packageName, message, isBreaking }) => (
          <li key={`${packageName} ${change} ${message}`} className="olm-list-item olm-finding">
            <Label isCompact isOutlined {...(isBreaking ? { status: "danger" as const } : {})}>
              {isBreaking ? `${t.change[change]}, ${t.breaking}` : t.change[change]}
            </Label>
            <div className="olm-list-body">
              <strong className="olm-break">{packageName}</strong>
              <p className="olm-break" dir="auto">
                {message}
              </p>
            </div>
          </li>
        ))}
      </ul>
      {omitted > 0 && <p className="olm-subtle">{t.omitted(omitted)}</p>}
    </>
  );
}
