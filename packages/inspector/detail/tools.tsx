import type { CallView } from 'millrace/view'
import { stateLabels } from '../chat/strings.ts'
import { duration, number, plural } from '../format.ts'
import { Problem } from './head.tsx'
import { callLink } from './links.tsx'
import { Items, List } from './list.tsx'
import { toolUses } from './tool-uses.ts'

export interface ToolsProps {
  readonly calls: readonly CallView[]
  /** The names of the offered tools, if known. */
  readonly offered?: readonly string[] | undefined
}

/** The offered and the called tools, with the status of each call. */
export function Tools({ calls, offered }: ToolsProps) {
  return (
    <List
      title={offered ? 'Tools offered and called' : 'Tools called'}
      items={toolUses(
        calls.filter(({ budget }) => !budget),
        offered,
      )}
    >
      {({ name, calls: own, ms, failed, wasNotOffered }) => (
        <>
          <span class={own.length > 0 ? '' : 'quiet'}>
            <code>{name}</code>{' '}
            {own.length > 0
              ? `${plural(own.length, 'call')}, ${duration(ms)} total${failed ? `, ${number(failed)} failed` : ''}`
              : 'not called'}
          </span>
          {own.length > 0 && <Items items={own}>{(call) => callLink(call, callStatus(call))}</Items>}
          <Problem text={wasNotOffered ? 'Called, but not offered to the model.' : undefined} />
        </>
      )}
    </List>
  )
}

function callStatus(call: CallView): string {
  const label = stateLabels[call.state]
  return call.result ? `${label}, ${duration(call.result.ms)}` : label
}
