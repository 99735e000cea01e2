// A name or an option is found as it is written, and while it is written. `--max-items-per-user` and `Ledger.backup` are
// several words to the theme's search, which would be content with any of them: a plus asks for each but the last, which
// may not be finished. To it a dash before a word means "without this word", and one after it is a mistake. `sg.` is what
// readers may call the package.
const post = Worker.prototype.postMessage;
const allOf = (name) => name.replace(/^sg\./, "").split(/[-.]+/).filter(Boolean).join(" ").replace(/\w+(?= )/g, "+$&");
Worker.prototype.postMessage = function (message, ...rest) {
  if (typeof message?.data === "string") {
    message = { ...message, data: message.data.replace(/-+(?!\S)|(?<!\S)-{0,2}\w+(?:[-.]\w+)+|(?<!\S)--(?=\w)/g, allOf) };
  }
  return post.call(this, message, ...rest);
};
