import type { ReactElement } from "react";
import type { CatalogView } from "../../../../pkg/consoleapi/catalogs.ts";
import { Label } from "../../components/Label.tsx";
import { NextStep } from "../../components/NextStep.tsx";
import { catalogsText as t } from "../../text/catalogs.ts";

const STATUS = { error: "danger", warning: "warning", info: "info" } as const;

/** The problems that catalogd reports in the status. */
export function CatalogProblems({ problems }: Pick<CatalogView, "problems">): ReactElement {
  return (
    <ul className="olm-list">
      {problems.map(({ severity, type, message, next }, i) => (
        <li key={`${type} ${i}`} className="olm-list-item">
          <Label isOutlined status={STATUS[severity]}>
            {t.severity[severity]}
          </Label>
          <div className="olm-list-body">
            <strong className="olm-break">{type}</strong>
            {/* The first line is the sentence; the others repeat findings. */}
            <p className="olm-break" dir="auto">
              {message.split("\n", 1)[0]}
            </p>
            {next !== undefined && <NextStep step={next} />}
          </div>
        </li>
      ))}
    </ul>
  );
}
