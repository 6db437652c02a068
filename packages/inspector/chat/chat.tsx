import { useSignal } from '@preact/signals'
import type { Session } from '../session.ts'
import './chat.css'
import { Composer } from './composer.tsx'
import { Conversation } from './conversation.tsx'
import { LiveRegion } from './live-region.tsx'
import { StatusLine } from './status-line.tsx'
import { Welcome } from './welcome.tsx'

/** The conversation, and where one takes part in it. Without a session it is the page of a new thread. */
export function Chat({ session }: { readonly session: Session | undefined }) {
  const agent = useSignal('')
  return (
    <div class="chat">
      {session ? <Conversation session={session} /> : <Welcome agent={agent} />}
      <div class="chat-foot">
        {session && <StatusLine session={session} />}
        <Composer session={session} agent={agent} />
      </div>
      {session && <LiveRegion session={session} />}
    </div>
  )
}
