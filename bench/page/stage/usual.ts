import { marked } from 'marked'
import { box, player } from './player.ts'

// What most chats do: parse and draw the whole text again. Sanitizing the result, which is
// required, would add to it.

let text = ''

player((pieces) => {
  text += pieces.join('')
  box.innerHTML = marked.parse(text, { async: false })
})
