import type { CallView } from 'millrace/view'
import { stateWords } from '../chat/call-phase.ts'
import { duration, number } from '../format.ts'
import { Fault } from './head.tsx'
import { callLink } from './links.tsx'
import { Items, List } from './list.tsx'
import { toolUses } from './offered.ts'

export interface ToolsProps {
  readonly calls: readonly CallView[]
  /** The names of those that could have been called, where that is known. */
  readonly offered?: readonly string[] | undefined
}

/** The tools that were offered against those that were called, with what became of it. */
export function Tools({ calls, offered }: ToolsProps) {
  return (
    <List title={offered ? 'Tools offered and called' : 'Tools called'} items={toolUses(calls, offered)}>
      {({ name, calls: own, ms, failed, isFault }) => (
        <>
          <span class={own.length > 0 ? '' : 'quiet'}>
            <code>{name}</code>{' '}
            {own.length > 0
              ? `called ${number(own.length)} ×, ${duration(ms)} in all${failed ? `, ${number(failed)} failed` : ''}:`
              : 'not called'}
          </span>
          {own.length > 0 && <Items items={own}>{(call) => callLink(call, whatBecame(call))}</Items>}
          <Fault text={isFault ? 'It was called and had not been offered.' : undefined} />
        </>
      )}
    </List>
  )
}

function whatBecame(call: CallView): string {
  const words = stateWords[call.state]
  return call.result ? `${words}, ${duration(call.result.ms)}` : words
}
