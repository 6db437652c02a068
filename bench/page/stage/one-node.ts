import { box, player } from './player.ts'

// The simplest way: one text node that grows.

const node = document.createTextNode('')
box.style.whiteSpace = 'pre-wrap'
box.append(node)

player((pieces) => node.appendData(pieces.join('')))
