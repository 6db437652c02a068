import type { ComponentChildren } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { CopyButton } from '../copy-button.tsx'
import { pretty, size } from '../format.ts'
import './json.css'
import { JsonTree } from './json-tree.tsx'
import { RawText } from './raw-text.tsx'

type Views = Readonly<Record<string, () => ComponentChildren>>

export interface JsonViewProps {
  /** What it is: "Request body". */
  readonly label: string
  /** The original text, whether it is JSON or not. */
  readonly text?: string
  /** The value, if there is no original text. */
  readonly value?: unknown
  /** How many levels of the tree are initially open. */
  readonly open?: number
  /** The initial view. Default: tree. */
  readonly first?: string
  /** More views by name. */
  readonly views?: Views | undefined
  /** More buttons. */
  readonly children?: ComponentChildren
}

/** Shows JSON as a tree or as raw text, with a copy button. Only the active view is rendered. */
export function JsonView({ label, text, value, open = 2, first, views: more, children }: JsonViewProps) {
  const json = useMemo(() => (text === undefined ? value : parsed(text)), [text, value])
  const title = text === undefined ? label : `${label}, ${size(text.length)}`
  const whole = () => text ?? pretty(value)
  const views: Views = {
    ...more,
    ...(json !== undefined && { Tree: () => <JsonTree value={json} open={open} /> }),
    Raw: () => <RawText text={whole()} label={title} />,
  }
  const [chosen, choose] = useState(first ?? (json === undefined ? 'Raw' : 'Tree'))
  return (
    <>
      <fieldset class="json-bar" aria-label={title}>
        <b>{title}</b>
        {Object.keys(views).map((name) => (
          <button
            key={name}
            type="button"
            class="plain"
            aria-pressed={name === chosen}
            onClick={() => choose(name)}
          >
            {name}
          </button>
        ))}
        <CopyButton text={whole} label={`Copy: ${title}`} />
        {children}
      </fieldset>
      {(views[chosen] ?? views.Raw)?.()}
    </>
  )
}

/** Undefined if the text is not valid JSON (yet). */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
