(** * A published row over a list of answers

    To refute a claim of privacy a fixed list of questions is enough: the analyst asks all of [u],
    one after the other, against one public threshold T, as [sparsegate.run] does.

    - [listed u h]: after the answers [h] the next question of the list, as its answer on the data.
    - [neighbouring Delta u v]: two lists of answers that belong to neighbouring data sets: as many,
      and none moves by more than Delta.
    - [refutable Delta eps M]: there are neighbouring lists and a transcript that is more than e^eps
      times as likely on the one as on the other under the mechanism [M], so that [M] is not eps-DP
      ([refutable_not_within]).
    - [never]: a row that does not stop.
    - [block j k x y]: x^j y^k. The transcript BELOW^j ABOVE^k has probability
      sum over rho of mu rho * Pr[BELOW]^j * Pr[ABOVE]^k ([along_block]).

    On its own side the tail of the discrete Laplace law is exactly geometric
    ([laplace_tail_shift], [laplace_below_shift]): the losses below are attained there. *)

From Sparsegate Require Import prelude privacy sums laplace gate laplace_gate standard_gate.
Local Open Scope ring_scope.

Section Tails.
Context {R : realType}.
Variable b : R.
Hypothesis b_gt0 : 0 < b.

Lemma laplace_tail_shift x d : 0 <= x -> 0 <= d ->
  laplace_tail b x = expR (b * d%:~R) * laplace_tail b (x + d).
Proof.
move=> x0 d0; rewrite !laplace_tail_closed // x0 addr_ge0 // mulrA -expRD; congr (expR _ / _).
by rewrite rmorphD /= mulrDr opprD addrCA subrr addr0.
Qed.

Lemma laplace_below_shift x d : x <= 1 -> 0 <= d ->
  laplace_below b x = expR (b * d%:~R) * laplace_below b (x - d).
Proof.
move=> x1 d0; rewrite !laplace_below_mirror // opprB addrA addrAC.
by apply: laplace_tail_shift => //; rewrite subr_ge0.
Qed.

Lemma laplace_event_gt0 (E : pred int) z : E z -> 0 < \P_[laplace b] E.
Proof.
move=> Ez; rewrite lt_neqAle ge0_pr andbT eq_sym; apply/eqP => /pr_eq0 /(_ z Ez).
by apply/eqP; rewrite gt_eqF // laplace_gt0.
Qed.

Lemma laplace_tail_gt0 x : 0 < laplace_tail b x.
Proof. exact: (laplace_event_gt0 (z := x)). Qed.

Lemma laplace_below_gt0 x : 0 < laplace_below b x.
Proof. by apply: (laplace_event_gt0 (z := x - 1)); rewrite ltr_subl_addr ltr_addl. Qed.

Lemma compare_gt0 q T rho x : 0 < compare b q T rho x.
Proof. by rewrite compareE; case: x; [apply: laplace_tail_gt0 | apply: laplace_below_gt0]. Qed.

End Tails.

Section Lists.
Implicit Types (u v : seq int).

Definition listed {A : Type} u (h : seq A) : int := nth 0 u (size h).

Definition neighbouring (Delta : nat) u v :=
  size u = size v /\ forall i, `|nth 0 v i - nth 0 u i| <= Delta%:Z.

Lemma neighbouring_near (A : eqType) Delta u v :
  neighbouring Delta u v -> near Delta (@listed A u) (@listed A v).
Proof. by case=> _ le h; apply: le. Qed.

Definition block {A : Type} (j k : nat) (x y : A) := nseq j x ++ nseq k y.

Lemma size_block (A : Type) j k (x y : A) : size (block j k x y) = (j + k)%N.
Proof. by rewrite size_cat !size_nseq. Qed.

Lemma block_neighbouring (Delta j k : nat) (x x' y y' : int) :
  `|x' - x| <= Delta%:Z -> `|y' - y| <= Delta%:Z ->
  neighbouring Delta (block j k x y) (block j k x' y').
Proof.
move=> xx yy; split=> [|i]; first by rewrite !size_block.
rewrite !nth_cat !size_nseq; case: ifP => lt_ij; rewrite !nth_nseq ?lt_ij //.
by case: ifP => _ //; rewrite subrr normr0.
Qed.

Lemma zip_nseq (A B : Type) i (x : A) (y : B) : zip (nseq i x) (nseq i y) = nseq i (x, y).
Proof. by elim: i => //= i ->. Qed.

End Lists.

Section Refutation.
Context {R : realType} {S : choiceType}.
Implicit Types (M : seq int -> {distr S / R}).

Definition refutable (Delta : nat) (eps : R) M :=
  exists u v x, neighbouring Delta u v /\ expR eps * M v x < M u x.

Lemma refutable_not_within Delta eps M : refutable Delta eps M ->
  ~ (forall u v, neighbouring Delta u v -> within eps (M u) (M v)).
Proof.
move=> [u [v [x [uv lt]]]] /(_ u v uv x).
by apply/negP; rewrite -ltNge.
Qed.

Lemma refuted Delta eps loss M u v x :
  neighbouring Delta u v -> eps < loss -> 0 < M v x -> expR loss * M v x <= M u x ->
  refutable Delta eps M.
Proof.
move=> uv lt pos le; exists u, v, x; split=> //.
by apply: lt_le_trans le; rewrite ltr_pmul2r // ltr_expR.
Qed.

End Refutation.

Section Transcripts.
Context {R : realType} {A : choiceType}.
Implicit Types (mu : {distr int / R}) (cmp : int -> int -> {distr A / R}) (u : seq int) (h t : seq A).

(** [cmp q rho]: how a question with the answer q is answered. *)
Definition asked_row cmp u h rho := cmp (listed u h) rho.

Lemma along_asked cmp u t h rho : size u = (size h + size t)%N ->
  along (asked_row cmp u) h t rho = \prod_(p <- zip (drop (size h) u) t) cmp p.1 rho p.2.
Proof.
elim: t h => [|x t IH] h /=; first by case: (drop _ _) => [|? ?]; rewrite big_nil.
move=> uht; have lt : (size h < size u)%N by rewrite uht addnS ltnS leq_addr.
by rewrite (drop_nth 0 lt) big_cons IH size_rcons // uht addnS.
Qed.

Lemma along_block cmp j k x y (neg pos : A) rho :
  along (asked_row cmp (block j k x y)) [::] (block j k neg pos) rho =
  cmp x rho neg ^+ j * cmp y rho pos ^+ k.
Proof.
rewrite along_asked ?size_block //= drop0 zip_cat ?size_nseq // !zip_nseq big_cat !big_nseq /=.
by rewrite -!Monoid.iteropE.
Qed.

Definition never h := false.

Lemma complete_never n h t : complete never n h t = (size t == n).
Proof. by elim: t n h => [|x t IH] [|n] h //=; rewrite IH. Qed.

Lemma complete_block (positive : pred A) c j k neg pos :
  (0 < c)%N -> (k <= c)%N -> ~~ positive neg -> positive pos ->
  complete (closed_after positive c) (j + k) [::] (block j k neg pos).
Proof.
move=> c0 kc /negbTE neg_ pos_; have positives h i : (count positive h + i <= c)%N ->
    complete (closed_after positive c) i h (nseq i pos).
  elim: i h => [|i IH] h le //=; rewrite {1}/closed_after -ltnNge IH.
    by rewrite andbT; apply: leq_trans le; rewrite addnS ltnS leq_addr.
  by rewrite -cats1 count_cat /= pos_ addn1 addSnnS.
suff: forall h, count positive h = 0%N ->
  complete (closed_after positive c) (j + k) h (block j k neg pos) by apply.
elim: j => [|j IH] h h0; first by apply: positives; rewrite h0.
rewrite /= {1}/closed_after h0 -ltnNge c0 /=.
by apply: IH; rewrite -cats1 count_cat h0 /= neg_.
Qed.

Lemma summable_along mu (step : seq A -> int -> {distr A / R}) h t :
  summable (fun rho => mu rho * along step h t rho).
Proof.
apply: summable_mu_wgtd => rho; rewrite along_ge0 /=.
elim: t h => [|x t IH] h //=; apply: mulr_ile1 => //; first exact: along_ge0.
exact: le1_mu1.
Qed.

Lemma gate_gt0 mu closed (step : seq A -> int -> {distr A / R}) n t rho :
  complete closed n [::] t -> 0 < mu rho -> 0 < along step [::] t rho ->
  0 < gate mu closed step n t.
Proof.
move=> ct mu_gt0 al_gt0; rewrite lt_neqAle ge0_mu andbT eq_sym gate_product ct mul1r.
apply/eqP => /(eq0_psum (summable_along _ _ _ _)) /(_ rho) /eqP.
by rewrite mulf_eq0 !gt_eqF.
Qed.

End Transcripts.

(** The gate with Laplace noise over a list. *)
Section LaplaceRow.
Context {R : realType}.
Variables (closed : seq bool -> bool) (Delta : nat) (eps1 r : R) (T : int).
Hypotheses (Delta0 : (0 < Delta)%N) (eps10 : 0 < eps1) (r0 : 0 < r).

Definition laplace_row (u : seq int) : {distr (seq bool) / R} :=
  laplace_gate closed Delta eps1 r (fun=> T) (size u) (listed u).

Lemma laplace_row_sums_to_one u : psum (laplace_row u) = 1.
Proof. exact: laplace_gate_sums_to_one. Qed.

Let rate (e : R) : 0 < e -> 0 < e / Delta%:R.
Proof. by move=> e0; rewrite divr_gt0 // ltr0n. Qed.

Lemma laplace_row_product j k x y :
  complete closed (j + k) [::] (block j k false true) ->
  laplace_row (block j k x y) (block j k false true) =
  psum (fun rho => laplace (eps1 / Delta%:R) rho *
    (laplace_below (r / Delta%:R) (T + rho - x) ^+ j * laplace_tail (r / Delta%:R) (T + rho - y) ^+ k)).
Proof.
move=> cmpl; rewrite /laplace_row /laplace_gate gate_product size_block cmpl mul1r.
apply: eq_psum => rho; congr (_ * _).
have := along_block (fun q => compare (r / Delta%:R) q T) j k x y false true rho.
by rewrite !compareE.
Qed.

Lemma summable_product mu (f g : int -> int) j k :
  summable (fun rho : int => (mu : {distr int / R}) rho *
    (laplace_below (r / Delta%:R) (f rho) ^+ j * laplace_tail (r / Delta%:R) (g rho) ^+ k)).
Proof.
apply: summable_mu_wgtd => rho; rewrite mulr_ge0 ?exprn_ge0 ?ge0_pr //=.
by rewrite mulr_ile1 ?exprn_ge0 ?exprn_ile1 ?ge0_pr ?le1_pr.
Qed.

Lemma laplace_row_gt0 u t : complete closed (size u) [::] t -> 0 < laplace_row u t.
Proof.
move=> cmpl; apply: (gate_gt0 (rho := 0)) => //; first exact/laplace_gt0/rate.
elim: t {cmpl} [::] => [|a t IH] h /=; first exact: ltr01.
by rewrite mulr_gt0 // compare_gt0 //; apply: rate.
Qed.

End LaplaceRow.
