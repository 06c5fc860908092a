import { Button, FormSelect, FormSelectOption } from "@patternfly/react-core";
import { useQuery } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { type CatalogFindingRow, CatalogFindings } from "../../../../pkg/consoleapi/catalogs.ts";
import { getJson } from "../../api/request.ts";
import { CommandLine } from "../../components/CommandLine.tsx";
import { Label } from "../../components/Label.tsx";
import { QueryView } from "../../components/QueryView.tsx";
import { catalogsText as t } from "../../text/catalogs.ts";

const STATUS = { error: "danger", warning: "warning" } as const;
/** Findings that are shown before the button. */
const FIRST = 50;

/** The findings in the content of a catalog, with file and line. */
export function Findings({ name }: { readonly name: string }): ReactElement {
  const query = useQuery({
    queryKey: ["catalog", name, "findings"],
    queryFn: ({ signal }) => getJson(`/api/catalogs/${encodeURIComponent(name)}/findings`, CatalogFindings, signal),
  });
  return (
    <QueryView query={query} lines={4}>
      {({ findings, unavailable, first, command }) => {
        if (unavailable !== undefined) {
          return (
            <>
              {first.length > 0 && (
                <ul className="olm-rows">
                  {first.map((line) => (
                    <li key={line} className="olm-break" dir="auto">
                      {line}
                    </li>
                  ))}
                </ul>
              )}
              <p className="olm-break olm-subtle" dir="auto">{`${t.findingsUnavailable(first.length > 0)}: ${unavailable}`}</p>
              <CommandLine command={command} label={t.findingsCommand} />
            </>
          );
        }
        return findings.length === 0 ? <p className="olm-subtle">{t.noFindings}</p> : <FindingList findings={findings} />;
      }}
    </QueryView>
  );
}

function FindingList({ findings }: { readonly findings: readonly CatalogFindingRow[] }): ReactElement {
  const [packageName, setPackage] = useState("");
  const [isWhole, setWhole] = useState(false);
  const packages = [...new Set(findings.map(getPackage))].sort();
  const chosen = packageName === "" ? findings : findings.filter((one) => getPackage(one) === packageName);
  const shown = isWhole ? chosen : chosen.slice(0, FIRST);
  const errors = findings.filter(({ severity }) => severity === "error").length;
  return (
    <>
      <div className="olm-toolbar olm-findings-toolbar">
        <span className="olm-subtle">{t.findingCount(errors, findings.length - errors)}</span>
        {packages.length > 1 && (
          <FormSelect
            className="olm-filter-select"
            aria-label={t.filterPackage}
            value={packageName}
            onChange={(_event, value) => setPackage(value)}
          >
            <FormSelectOption value="" label={t.allPackages} />
            {packages.map((one) => (
              <FormSelectOption key={one} value={one} label={one} />
            ))}
          </FormSelect>
        )}
      </div>
      <ul className="olm-list">
        {shown.map((finding, i) => (
          <Finding key={i} finding={finding} />
        ))}
      </ul>
      {shown.length < chosen.length && (
        <Button variant="link" isInline onClick={() => setWhole(true)}>
          {t.showAll(chosen.length)}
        </Button>
      )}
    </>
  );
}

function Finding({ finding }: { readonly finding: CatalogFindingRow }): ReactElement {
  const { severity, rule, message, file, line, schema, name } = finding;
  return (
    <li className="olm-list-item olm-finding">
      <Label isCompact isOutlined status={STATUS[severity]}>
        {t.severity[severity]}
      </Label>
      <div className="olm-list-body">
        <p className="olm-break" dir="auto">
          {message}
        </p>
        <p className="olm-break olm-subtle">
          <code>{line === undefined ? file : t.line(file, line)}</code> <bdi>{[schema, name].filter(Boolean).join(" ")}</bdi> ({rule})
        </p>
      </div>
    </li>
  );
}

/** Returns the package of a finding. The object of a package has only a name. */
function getPackage({ package: packageName, schema, name }: CatalogFindingRow): string {
  return packageName === "" && schema === "olm.package" ? name : packageName;
}
