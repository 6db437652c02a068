import { useSignal } from '@preact/signals'
import type { Session } from '../session.ts'
import './chat.css'
import { Composer } from './composer.tsx'
import { Conversation } from './conversation.tsx'
import { LiveRegion } from './live-region.tsx'
import { MissingThread } from './missing-thread.tsx'
import { StatusLine } from './status-line.tsx'
import { ThreadLine } from './thread-line.tsx'
import { Welcome } from './welcome.tsx'

/** The conversation and the composer. Without a session, the page for a new thread. */
export function Chat({ session }: { readonly session: Session | undefined }) {
  const agent = useSignal('')
  if (session?.connection.value === 'gone' && session.entries.length === 0)
    return <MissingThread text={session.problem.value} />
  return (
    <div class="chat">
      {session ? <Conversation session={session} /> : <Welcome agent={agent} />}
      <div class="chat-foot">
        {session && <StatusLine session={session} />}
        <Composer session={session} agent={agent} />
        {session && <ThreadLine session={session} />}
      </div>
      {session && <LiveRegion session={session} />}
    </div>
  )
}
