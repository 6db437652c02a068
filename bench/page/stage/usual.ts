import { marked } from 'marked'
import { box, player } from './player.ts'

// What most chats do: all that has come is read again, and drawn anew. Cleaning the result, as one must, would come on top.

let text = ''

player((pieces) => {
  text += pieces.join('')
  box.innerHTML = marked.parse(text, { async: false })
})
