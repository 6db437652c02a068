import { createElement } from 'react'
import { renderToString } from 'react-dom/server'
import { expect, test } from 'vitest'
import { useThread } from './use-thread.ts'
import { useVoice } from './use-voice.ts'

// The rest is tested in a browser: test/page/react.test.ts.

function Chat({ id }: { readonly id?: string }) {
  // Relative to a page that the server does not know.
  const chat = useThread({ url: '/api', id })
  const voice = useVoice(chat)
  return `${chat.status} ${chat.connection} ${chat.messages.length} ${voice.state}`
}

test('a server renders an empty conversation, and connects to nothing', () => {
  expect(renderToString(createElement(Chat))).toBe('idle closed 0 closed')
  expect(renderToString(createElement(Chat, { id: 't1' }))).toBe('loading connecting 0 closed')
})
