import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { Leftovers as LeftoverObjects } from "../../../../../pkg/consoleapi/uninstall.ts";
import { getJson } from "../../../api/request.ts";
import { ActionButton } from "../../../components/ActionButton.tsx";
import { TabSection } from "../../../components/TabSection.tsx";
import { uninstallText as t } from "../../../text/uninstall.ts";
import { ObjectNames } from "./ObjectNames.tsx";

/** The objects that `olmv1 install` created for an extension that is gone. Shows nothing if there are none, or if the user may not list them. */
export function Leftovers({ name }: { readonly name: string }): ReactElement | null {
  const { data } = useQuery({
    queryKey: ["extension", name, "leftovers"],
    queryFn: ({ signal }) => getJson(`/api/extensions/${encodeURIComponent(name)}/leftovers`, LeftoverObjects, signal),
  });
  if (!data || data.objects.length === 0) return null;
  return (
    <TabSection title={t.leftovers} level="h2">
      <p className="olm-prose">{t.leftoversNote}</p>
      <ObjectNames objects={data.objects} />
      <div>
        <ActionButton request={{ action: "removeCreated", extension: name }} variant="secondary" isDanger>
          {t.removeLeftovers}
        </ActionButton>
      </div>
    </TabSection>
  );
}
