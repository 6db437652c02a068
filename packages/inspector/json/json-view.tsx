import type { ComponentChildren } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { CopyButton } from '../copy-button.tsx'
import { pretty, size } from '../format.ts'
import './json.css'
import { JsonTree } from './json-tree.tsx'
import { RawText } from './raw-text.tsx'

type Views = Readonly<Record<string, () => ComponentChildren>>

export interface JsonViewProps {
  /** What is looked at: "Request body". */
  readonly label: string
  /** Exactly as it was written, whether it is JSON or not. */
  readonly text?: string
  /** Where nobody has written it. */
  readonly value?: unknown
  /** How many levels of its tree are open at first. */
  readonly open?: number
  /** How it is looked at first: as a tree unless this says otherwise. */
  readonly first?: string
  /** More ways to look at it, by their names. */
  readonly views?: Views | undefined
  /** More buttons. */
  readonly children?: ComponentChildren
}

/** As a tree if it is JSON, as it was written, and to be copied. What is not looked at is not there. */
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

/** Nothing if it is no JSON, or not yet. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
