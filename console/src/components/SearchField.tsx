import "@patternfly/patternfly/components/TextInputGroup/text-input-group.css";
import "./filters.css";
import { Button } from "@patternfly/react-core";
import { RhMicronsCloseIcon, SearchIcon } from "@patternfly/react-icons";
import { type ReactElement, type ReactNode, useRef } from "react";
import { text } from "../text/en.ts";

/** A field for words to search for, with a button that empties it. */
export function SearchField({
  label,
  value,
  onChange,
  onEnter,
  maxLength,
  isOfPage = false,
  children,
}: {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** Called when the user presses Enter. @param isShifted whether together with Shift */
  readonly onEnter?: (isShifted: boolean) => void;
  readonly maxLength?: number;
  /** Whether it is the search field of the page, which the key `/` focuses. */
  readonly isOfPage?: boolean;
  /** Shown before the button that empties the field. */
  readonly children?: ReactNode;
}): ReactElement {
  const input = useRef<HTMLInputElement>(null);
  const clear = (): void => {
    onChange("");
    input.current?.focus();
  };
  return (
    <div className="pf-v6-c-text-input-group olm-filters-search" data-search={isOfPage ? "" : undefined}>
      <div className="pf-v6-c-text-input-group__main pf-m-icon">
        <span className="pf-v6-c-text-input-group__text">
          <span className="pf-v6-c-text-input-group__icon">
            <SearchIcon />
          </span>
          <input
            ref={input}
            type="text"
            className="pf-v6-c-text-input-group__text-input"
            aria-label={label}
            placeholder={label}
            value={value}
            maxLength={maxLength}
            onChange={(event) => onChange(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter") onEnter?.(event.shiftKey);
            }}
          />
        </span>
      </div>
      {(value !== "" || children !== undefined) && (
        <div className="pf-v6-c-text-input-group__utilities">
          {children}
          {value !== "" && <Button variant="plain" icon={<RhMicronsCloseIcon />} aria-label={text.common.clear} onClick={clear} />}
        </div>
      )}
    </div>
  );
}
