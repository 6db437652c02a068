import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { lostAt } from '../clock.ts'
import type { Session } from '../session.ts'
import type { ListHandle } from '../virtual/virtual-list.tsx'
import './chat.css'
import { Composer } from './composer.tsx'
import { Conversation } from './conversation.tsx'
import { EmptyThread } from './empty-thread.tsx'
import { LiveRegion } from './live-region.tsx'
import { MissingThread } from './missing-thread.tsx'
import { StatusLine } from './status-line.tsx'
import { ThreadLine } from './thread-line.tsx'
import { Welcome } from './welcome.tsx'

/** The conversation and the composer. Without a session, the page for a new thread. */
export function Chat({ session }: { readonly session: Session | undefined }) {
  const agent = useSignal('')
  const list = useRef<ListHandle>(null)
  const start = useSignal<string | undefined>(undefined)
  if (session?.connection.value === 'gone' && session.entries.length === 0)
    return <MissingThread text={session.problem.value} />
  return (
    <div class="chat" data-lost={lostAt.value !== undefined}>
      {session ? (
        <>
          <Conversation session={session} list={list} />
          <EmptyThread session={session} />
        </>
      ) : (
        <Welcome agent={agent} onStart={(text) => (start.value = text)} />
      )}
      <div class="chat-foot">
        {session && <StatusLine session={session} />}
        <Composer session={session} agent={agent} start={start} onSend={() => list.current?.toEnd()} />
        {session && <ThreadLine session={session} />}
      </div>
      {session && <LiveRegion session={session} />}
    </div>
  )
}
